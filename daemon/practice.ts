/** A daemon that is asked all that one will be asked which is claimed, and is closed then. */
import type { Clock } from '../shared/clock.ts'
import { drawnAtOnce, idsFrom } from '../shared/ids.ts'
import { jsonLog, type Log } from '../shared/log.ts'
import type { BootDocument } from '../shared/wire/host.ts'
import type { Claim } from './channel/claim.ts'
import type { Connections } from './channel/connections.ts'
import { practiceConfig, practiseAnswering, removePractice } from './channel/practise.ts'
import type { Config } from './config/config.ts'
import { createDaemon } from './daemon.ts'
import { serversNamed } from './names/resolver.ts'
import { randomBytes } from './native/sys/sys.ts'
import type { NodeInternals } from './node-internals/index.ts'
import type { Program } from './upgrade/program.ts'

interface Practice {
  readonly boot: BootDocument
  readonly connections: Connections
  readonly program: Program
  readonly nodeInternals: NodeInternals
  readonly clock: Clock
  readonly log: Log
}

/** When somebody waits for a claim and for what follows it, all of it has been done before. That it fails is only said. */
export const practiseAll = async (config: Config, practice: Practice): Promise<void> => {
  const { boot, connections, program, nodeInternals, clock } = practice
  const ids = idsFrom(drawnAtOnce(randomBytes))
  const log = jsonLog({ level: 'error', now: clock.now, write: () => {} })
  try {
    const claim: Claim = async ({ memoryBytes, ...configuration }) => {
      const machine = { ...boot.machine, memoryBytes }
      await daemon.core.hostConfiguration.become({ ...boot, machine, resolvers: serversNamed(), configuration })
      // No limit, which changes nothing.
      nodeInternals.limitHeap(0)
    }
    const deps = { clock, ids, log, program, boot, connections, nodeInternals, claim }
    const daemon = await createDaemon(practiceConfig(config), deps)
    try {
      const server = nodeInternals.serve(daemon.dispatcher, { log, clock, begun: () => () => {} })
      await practiseAnswering(server, boot, { connections, accept: nodeInternals.accept })
    } finally {
      await daemon.close()
    }
  } catch (error) {
    practice.log.warn('daemon.unpractised', { machine: boot.machine.id, error })
  } finally {
    await removePractice(config)
  }
}
