/** The machine of a workspace's builder, and what a build does in it. */
import type { Readable } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Client } from '../../../../shared/http/client/index.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import { readPath, writePath } from '../../../../shared/wire/filesystem.ts'
import { onNewest, type Transition } from '../../transitions/transition.ts'
import type { Owner, Resource, Store } from '../../store/store.ts'
import { builderKind, builderName, type BuilderSpec } from './rules.ts'

export interface RunOptions {
  readonly stdin?: string | Uint8Array
  readonly workingDir?: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutSeconds?: number
  readonly maxOutput?: number
  readonly onStdout?: (text: string) => void
  readonly onStderr?: (text: string) => void
  readonly signal?: AbortSignal
}

export interface RunResult {
  readonly exitCode: number
  readonly status: string
  readonly stdout: string
  readonly stderr: string
}

/** How a machine is reached. */
export interface Reaching {
  /** Runs `use` with the daemon of the owner's machine, when it is up. */
  readonly call: <T>(owner: Owner, use: (daemon: Client) => Promise<T>) => Promise<T>
  readonly exec: (owner: Owner, options: RunOptions & { readonly command: readonly string[] }) => Promise<RunResult>
}

export interface Machine {
  /** Runs a script of `sh`; throws what `exec` throws. */
  run(script: string, options?: RunOptions): Promise<RunResult>
  write(path: string, content: Readable | string, permissions?: string): Promise<void>
  /** The bytes of a file, which is a stranger's: whoever reads it bounds it. */
  read<T>(path: string, use: (bytes: AsyncIterable<Buffer>) => Promise<T>): Promise<T>
}

export interface Machines {
  /** Runs `use` with the machine of the workspace's builder, which is there afterwards for a while. */
  with<T>(workspace: string, spec: BuilderSpec, use: (machine: Machine) => Promise<T>): Promise<T>
  /** The builder goes with its layers. */
  drop(workspace: string): Promise<void>
  /** Ends builders that nobody has used for long; to be called once, when machines are looked after. */
  begin(): void
  close(): void
}

export interface MachineDeps extends Reaching {
  readonly store: Store
  readonly transition: Transition
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly poke: (kind: string, uid: string) => void
}

/** A builder that nobody uses for so long goes with its layers. */
const unusedMs = 6 * 3_600_000
const tidyEveryMs = 600_000

const keyOf = (workspace: string) => ({ kind: builderKind, workspace, parent: '', name: builderName })

/** The builder's record, with that spec. */
const need = (deps: MachineDeps, workspace: string, spec: BuilderSpec): Promise<Resource> =>
  onNewest(async () => {
    const { store, transition, ids, poke } = deps
    const wanted = spec as unknown as Resource['spec']
    const found = await store.resources.get(keyOf(workspace))
    const broken = found?.status === 'FAILED'
    if (found && !broken && JSON.stringify(found.spec) === JSON.stringify(wanted)) return found
    const by = { createdBy: builderName, updatedBy: builderName }
    const { resources } = await transition.write([
      ...(found && broken ? [{ remove: found }] : []),
      found && !broken
        ? { record: found, change: { spec: wanted } }
        : { create: { ...keyOf(workspace), uid: ids.uuid(), metadata: by, spec: wanted }, message: 'builder created' },
    ])
    const record = resources[0]
    if (!record) throw fail('not_found', { kind: builderKind, name: workspace })
    poke(builderKind, record.uid)
    return record
  })

const machineOf = ({ call, exec }: MachineDeps, owner: Resource): Machine => ({
  run: (script, options) => exec(owner, { ...options, command: ['sh', '-ec', script] }),
  write: (path, content, permissions) =>
    call(owner, async daemon => {
      await daemon.ask(writePath, { params: { path }, query: { permissions }, body: content })
    }),
  read: (path, use) =>
    call(owner, async daemon => use(await daemon.stream(readPath, { params: { path }, query: { download: true } }))),
})

export const createMachines = (deps: MachineDeps): Machines => {
  const { store, transition, clock, log, poke } = deps
  const usedAt = new Map<string, number>()
  const under = new Map<string, number>()
  let stop = (): void => {}
  const drop = async (workspace: string): Promise<void> => {
    const found = await store.resources.get(keyOf(workspace))
    if (!found) return
    await transition.write([{ remove: found }])
    poke(builderKind, found.uid)
  }
  const tidy = async (): Promise<void> => {
    const records = await store.resources.everyOf(builderKind, (uid, error) =>
      log.error('record.unreadable', { record: uid, error }),
    )
    for (const { workspace } of records) {
      if (!usedAt.has(workspace)) usedAt.set(workspace, clock.elapsed())
      const unused = clock.elapsed() - (usedAt.get(workspace) ?? 0)
      if (unused > unusedMs && !under.get(workspace)) await drop(workspace)
    }
  }
  return {
    async with(workspace, spec, use) {
      under.set(workspace, (under.get(workspace) ?? 0) + 1)
      try {
        return await use(machineOf(deps, await need(deps, workspace, spec)))
      } finally {
        usedAt.set(workspace, clock.elapsed())
        under.set(workspace, (under.get(workspace) ?? 1) - 1)
      }
    },
    drop,
    begin() {
      stop = clock.every(tidyEveryMs, () => void tidy().catch(error => log.warn('builders.untidied', { error })))
    },
    close: () => stop(),
  }
}
