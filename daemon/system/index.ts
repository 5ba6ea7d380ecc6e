/** The daemon's own affairs: health, environment, upgrades. */
import { fstatSync } from 'node:fs'
import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import { systemRoutes } from './routes.ts'
import type { InheritedTerminal } from '../upgrade/handover.ts'
import type { Program } from '../upgrade/program.ts'
import type { Listed } from '../upgrade/rehearse.ts'
import type { HandoverSource } from '../upgrade/successor.ts'
import { createUpgrades, type Upgrades } from '../upgrade/upgrade.ts'

interface SystemDeps {
  readonly program: Program
  /** All processes; their journal is written as they change, so nothing has to be saved before an upgrade. */
  readonly list: () => readonly Listed[]
  /** Keeps the sandbox awake until the returned function is called. */
  readonly hold: () => () => void
  /** Pid of the command of `-c`, while it runs. */
  readonly command: () => number | undefined
  /** Writing ends of standard inputs, for the next daemon. */
  readonly pipes: () => readonly { id: number; fd: number }[]
  readonly terminals: HandoverSource<InheritedTerminal>
}

export interface System {
  readonly upgrades: Upgrades
  readonly bounds: readonly Bound[]
}

export const createSystem = (core: Core, deps: SystemDeps): System => {
  const { config, environment, hostConfiguration, clock, ids, log, closing } = core
  const { program, list, terminals } = deps
  const made = createUpgrades({
    clock,
    log,
    config,
    jitter: () => Number.parseInt(ids.uuid().slice(0, 8), 16) / 2 ** 32,
    last: core.inherited.lastUpgrade,
    list,
    start: program.start,
    keyed: program.keyed,
    hold: deps.hold,
    async replace(what, lastUpgrade) {
      const sessions = await terminals.disconnect()
      try {
        await program.socket()?.pause()
        // Nothing may be awaited from here on: input and output after this snapshot would be lost.
        await program.replaceWith(what, {
          upgradeCount: config.upgradeCount + 1,
          lastUpgrade,
          boot: hostConfiguration.document(),
          environment: environment.changes(),
          reloaded: environment.reloaded(),
          pipes: deps.pipes().map(({ id, fd }) => ({ id, fd, inode: fstatSync(fd).ino })),
          command: deps.command(),
          terminals: [...sessions()],
        })
      } finally {
        await program.socket()?.resume()
        terminals.acceptClients()
      }
    },
  })
  closing.add('upgrade', made.close)
  return { upgrades: made, bounds: systemRoutes(core, made) }
}
