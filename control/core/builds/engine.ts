/**
 * Makes the images that records wait for. A record that is UPLOADING waits for its archive, one that is BUILDING for its image; both
 * are looked at level-triggered, so that the same code serves a new upload and a restart after a crash. A build that a crash has cut
 * off begins anew: its archive is still there.
 */
import type { Clock } from '../../../shared/clock.ts'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import { reconcileLoop, type Outcome } from '../transitions/loop.ts'
import { onNewest, type Transition } from '../transitions/transition.ts'
import type { Move } from '../transitions/transition.ts'
import type { Resource, Store, Written } from '../store/store.ts'
import { brokeMove, builtMove, type Buildable } from './finish.ts'
import type { BuildLogs } from './log.ts'
import { slotOf, type Slot } from '../transitions/slot.ts'
import type { UploadFiles } from './uploads/files.ts'

/** What makes the image of a record. */
export interface Making {
  readonly record: Resource
  readonly slot: Slot
  /** A tag that no image of the record has yet. */
  readonly tag: string
  readonly say: (text: string) => void
  readonly signal: AbortSignal
}

export interface EngineDeps {
  readonly store: Store
  readonly transition: Transition
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Kinds whose records have images made, by name. */
  readonly kinds: ReadonlyMap<string, Buildable>
  readonly files: UploadFiles
  readonly logs: BuildLogs
  /** Resolves with the reference of the image; throws what the record's owner is told. */
  readonly make: (making: Making) => Promise<string>
  readonly poke: (kind: string, uid: string) => void
}

export interface Engine {
  /** To be told of everything that is written: a build whose record is gone or has moved on ends. */
  written(written: Pick<Written, 'resources' | 'removed'>): void
  /** Takes up what an earlier process has left. */
  begin(): Promise<void>
  close(): Promise<void>
}

const atOnce = 2
const waiting: readonly string[] = ['UPLOADING', 'BUILDING']
const tagLength = 12

interface Context extends EngineDeps {
  /** Builds under way, by the uid of their records. */
  readonly under: Map<string, { readonly slot: string; readonly stop: AbortController }>
}

/** Writes what became of it, unless the record has gone or moved on. */
const settle = (context: Context, uid: string, slot: Slot, moveOf: (record: Resource) => Move): Promise<void> =>
  onNewest(async () => {
    const { store, transition, poke } = context
    const record = await store.resources.getByUid(uid)
    if (!record || slotOf(record)?.id !== slot.id || !waiting.includes(record.status)) return
    await transition.write([moveOf(record)])
    poke(record.kind, uid)
  })

const wait = async (context: Context, record: Resource, slot: Slot): Promise<Outcome> => {
  const left = slot.expiresAt - context.clock.now()
  if (left > 0) return { againMs: left }
  await settle(context, record.uid, slot, one => brokeMove(one, 'nothing was uploaded in time'))
  return {}
}

const build = async (
  context: Context,
  kind: Buildable,
  record: Resource,
  slot: Slot,
  closing: AbortSignal,
): Promise<void> => {
  const { logs, files, under, ids, make, log } = context
  const { uid } = record
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, closing])
  under.set(uid, { slot: slot.id, stop })
  const said = await logs.begin(uid)
  try {
    const reference = await make({ record, slot, tag: ids.short(tagLength), say: said.say, signal })
    signal.throwIfAborted()
    await settle(context, uid, slot, one => builtMove(kind, one, reference))
    said.say(`image ${reference} is built\n`)
  } catch (error) {
    // This process ends: the next one begins it anew.
    if (closing.aborted) return
    said.say(`${messageOf(error)}\n`)
    log.info('build.failed', { record: uid, workspace: record.workspace, reason: messageOf(error) })
    await settle(context, uid, slot, one => brokeMove(one, messageOf(error)))
  } finally {
    under.delete(uid)
    await said.close()
    if (!closing.aborted) await files.remove(slot.id)
  }
}

const step = async (context: Context, uid: string, closing: AbortSignal): Promise<Outcome | undefined> => {
  const { store, kinds, logs } = context
  const record = await store.resources.getByUid(uid)
  if (!record) {
    await logs.remove(uid)
    return undefined
  }
  const kind = kinds.get(record.kind)
  const slot = slotOf(record)
  if (!kind || !slot) return undefined
  if (record.status === 'UPLOADING') return wait(context, record, slot)
  if (record.status === 'BUILDING') await build(context, kind, record, slot, closing)
  return undefined
}

export const createEngine = (deps: EngineDeps): Engine => {
  const { store, kinds, files, clock, log } = deps
  const context: Context = { ...deps, under: new Map() }
  const loop = reconcileLoop(
    (uid, signal) => step(context, uid, signal),
    { name: 'builds', concurrency: atOnce },
    { clock, log },
  )
  const end = (uid: string, why: string): void => {
    context.under.get(uid)?.stop.abort(fail('unprocessable', { reason: why }))
  }
  return {
    written({ resources, removed }) {
      for (const { uid, kind } of removed) {
        if (!kinds.has(kind)) continue
        end(uid, 'it was deleted while it was built')
        loop.poke(uid)
      }
      for (const record of resources) {
        if (!kinds.has(record.kind)) continue
        const under = context.under.get(record.uid)
        if (under && (record.status !== 'BUILDING' || slotOf(record)?.id !== under.slot))
          end(record.uid, 'something else took its place while it was built')
        if (waiting.includes(record.status)) loop.poke(record.uid)
      }
    },
    async begin() {
      const slots = new Set<string>()
      const unreadable = (record: string, error: unknown) => log.error('record.unreadable', { record, error })
      for (const kind of kinds.keys())
        for (const record of await store.resources.everyOf(kind, unreadable)) {
          const slot = slotOf(record)
          if (!slot || !waiting.includes(record.status)) continue
          slots.add(slot.id)
          loop.poke(record.uid)
        }
      await files.keep(slots)
    },
    close: () => loop.close(),
  }
}
