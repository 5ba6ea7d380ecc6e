/** States of a sandbox before its commands: cut, listed, compared with what there is now, gone back to. */
import { fail } from '../../../../../shared/errors.ts'
import { onNewest } from '../../../transitions/transition.ts'
import type { Instance, Resource } from '../../../store/store.ts'
import { machineOf, type Context } from './context.ts'
import { diffOf, type Diff } from './diff.ts'
import type { SnapshotService } from './service.ts'
import { advanced, filesIdOf, positionIn, timelineOf, withTimeline, type Checkpoint } from './timeline.ts'

export interface Undone {
  readonly checkpoint: string
  /** Files alone were taken back: what ran has ended. */
  readonly processes: 'ended'
}

export interface Checkpoints {
  /** Whether the machine is one whose files are saved. */
  isFor(instance: Pick<Instance, 'owner'>): boolean
  /** Cuts a state before `command`; resolves with its id. */
  cut(uid: string, command: string): Promise<string>
  /** Newest first. */
  list(uid: string): Promise<Checkpoint[]>
  /** What is otherwise now than in that state. */
  diff(uid: string, id: string, content: boolean): Promise<Diff>
  /** Takes the sandbox back to a state, the one before unless given; or forth. Throws `wrong_state` without leave to end what runs. */
  move(
    uid: string,
    way: 'undo' | 'redo',
    asked: { readonly to?: string | undefined; readonly restart: boolean },
  ): Promise<Undone>
}

type Deps = Context & Pick<SnapshotService, 'alone' | 'copy' | 'restore'>

const sandboxOf = async ({ store }: Deps, uid: string): Promise<Resource> => {
  const found = await store.resources.getByUid(uid)
  if (!found) throw fail('not_found', { kind: 'sandbox', name: uid })
  return found
}

const write = (deps: Deps, uid: string, change: (states: readonly Checkpoint[]) => readonly Checkpoint[]) =>
  onNewest(async () => {
    const record = await sandboxOf(deps, uid)
    await deps.transition.write([{ record, change: { internal: withTimeline(record, change(timelineOf(record))) } }])
  })

/** Copies what there is now, and notes it in the record: nothing removes it in between. */
const save = async (
  deps: Deps,
  { uid, instance, command }: { uid: string; instance: Instance; command: string | undefined },
  place: (states: readonly Checkpoint[], made: Checkpoint) => readonly Checkpoint[],
): Promise<Checkpoint> => {
  const { ids, clock, copy, underWay } = deps
  const id = `cp_${ids.short(16)}`
  const files = filesIdOf(uid, id)
  underWay.add(files)
  try {
    const { bytes } = await copy(files, instance)
    underWay.add(files)
    const made = {
      id,
      createdAt: clock.now(),
      bytes,
      ...(command === undefined ? {} : { command: command.slice(0, 4_096) }),
    }
    await write(deps, uid, states => place(states, made))
    return made
  } finally {
    underWay.delete(files)
  }
}

const where = async (deps: Deps, record: Resource) => {
  const instance = await machineOf(deps, record)
  const states = timelineOf(record)
  const at = positionIn(record.uid, states, await deps.snapshotterOf(instance).origin(instance.id))
  return { instance, states, at }
}

const indexOf = (states: readonly Checkpoint[], id: string): number => {
  const found = states.findIndex(one => one.id === id)
  if (found < 0) throw fail('not_found', { kind: 'checkpoint', name: id })
  return found
}

const move = async (deps: Deps, uid: string, way: 'undo' | 'redo', to: string | undefined): Promise<Undone> => {
  const record = await sandboxOf(deps, uid)
  const { instance, states, at } = await where(deps, record)
  const nothing = () =>
    fail('wrong_state', { kind: 'sandbox', name: record.name, state: `without a state to ${way}`, wanted: way })
  const step = way === 'undo' ? (at ?? states.length) - 1 : (at ?? states.length) + 1
  const target = states[to === undefined ? step : indexOf(states, to)]
  if (!target) throw nothing()
  // What it is taken from can be had again.
  if (at === undefined)
    await save(deps, { uid, instance, command: undefined }, (all, made) => [...all.slice(-20), made])
  await deps.restore(record, filesIdOf(uid, target.id), way)
  return { checkpoint: target.id, processes: 'ended' }
}

export const createCheckpoints = (deps: Deps): Checkpoints => {
  const { alone } = deps
  return {
    isFor: ({ owner }) => owner.kind === 'sandbox',
    cut: (uid, command) =>
      alone(uid, async () => {
        const { instance, at } = await where(deps, await sandboxOf(deps, uid))
        return (await save(deps, { uid, instance, command }, (states, made) => advanced(states, at, made))).id
      }),
    list: async uid => [...timelineOf(await sandboxOf(deps, uid))].reverse(),
    async move(uid, way, { to, restart }) {
      if (!restart) {
        const { name } = await sandboxOf(deps, uid)
        const state = 'running processes, which files alone cannot be taken back under'
        throw fail('wrong_state', { kind: 'sandbox', name, state, wanted: `${way} without restart: true` })
      }
      return alone(uid, () => move(deps, uid, way, to))
    },
    diff: (uid, id, content) =>
      alone(uid, async () => {
        const record = await sandboxOf(deps, uid)
        const { instance, states } = await where(deps, record)
        const before = states[indexOf(states, id)] as Checkpoint
        const now = filesIdOf(uid, `now-${deps.ids.short(8)}`)
        const snapshotter = deps.snapshotterOf(instance)
        deps.underWay.add(now)
        try {
          await deps.copy(now, instance)
          const views = [await snapshotter.view(filesIdOf(uid, before.id)), await snapshotter.view(now)] as const
          return await diffOf(views, instance.image?.rootfs ?? '/nonexistent', content)
        } finally {
          await snapshotter.remove(now)
          deps.underWay.delete(now)
        }
      }),
  }
}
