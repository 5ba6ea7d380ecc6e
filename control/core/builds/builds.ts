/** What the rest of the host asks of builds: places for uploads, what comes in there, and images that are made by themselves. */
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../../../shared/clock.ts'
import { fail, isError, messageOf } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import { onNewest, type Transition } from '../transitions/transition.ts'
import type { Actor } from '../records/crud.ts'
import { auditedBy } from '../records/context.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Key, Resource, Store } from '../store/store.ts'
import { brokeMove } from './finish.ts'
import { imageBuildKey, imageBuildKind, type ImageBuildSpec } from './image-build.ts'
import { loginsIn } from './logins.ts'
import type { BuildLogs } from './log.ts'
import { isMade, slotOf, waitsForUpload, type Slot } from '../transitions/slot.ts'
import type { UploadAddresses, UploadTarget } from './uploads/address.ts'
import type { UploadFiles } from './uploads/files.ts'

export interface ImageAsked extends ImageBuildSpec {
  /** In place of an upload: a reference that is converted. */
  readonly image?: string | undefined
  /** A docker configuration, as text. */
  readonly dockerConfig?: string | undefined
}

export interface Builds {
  /** A place for one upload, for a record that is to be written with it. */
  slot(): Slot
  /** Where to send the upload; `record` was written with `slot`. */
  url(record: Key, slot: Slot): string
  /** Takes in what is sent to an address. Throws what its sender is told. */
  receive(token: string, from: Readable, length: number | undefined): Promise<void>
  /** Has an image made by itself; resolves with the slot of its upload, or undefined when none is needed. */
  image(actor: Actor, asked: ImageAsked): Promise<Slot | undefined>
  /** Images of a workspace that are made by themselves, with what became of them. */
  images(workspace: string): Promise<readonly Resource[]>
  /** Forgets what became of an image. */
  forget(workspace: string, image: ImageBuildSpec): Promise<void>
  /** Writes the log of a record's build. */
  log(uid: string, to: Writable, options: { readonly follow: boolean; readonly signal: AbortSignal }): Promise<void>
}

export interface BuildsDeps {
  readonly store: Store
  readonly transition: () => Transition
  readonly clock: Clock
  readonly ids: Ids
  readonly sealer: Sealer
  readonly addresses: UploadAddresses
  readonly files: UploadFiles
  readonly logs: BuildLogs
  readonly publicUrl: () => string
}

/** How long an address is good for. */
const uploadMs = 15 * 60_000
const mostImages = 1_000
/** How often whoever follows a log looks whether its build has begun, ms. */
const beginEveryMs = 100

const keyOf = ({ kind, workspace, parent, name }: UploadTarget): Key => ({ kind, workspace, parent, name })

const used = (name: string, state: string) =>
  fail('wrong_state', { kind: 'upload for', name, state, wanted: 'another upload to this address' })

const receiving = (deps: BuildsDeps) => {
  const under = new Set<string>()
  const { store, transition, addresses, files, clock } = deps
  const need = async (target: UploadTarget): Promise<Resource> => {
    const record = await store.resources.get(keyOf(target))
    if (!record) throw fail('not_found', { kind: target.kind, name: target.name })
    if (record.status !== 'UPLOADING' || slotOf(record)?.id !== target.id)
      throw used(target.name, record.status || 'over')
    return record
  }
  const write = (target: UploadTarget, moveOf: (record: Resource) => Parameters<Transition['write']>[0][number]) =>
    onNewest(async () => {
      await transition().write([moveOf(await need(target))])
    })
  return async (token: string, from: Readable, length: number | undefined): Promise<void> => {
    const target = addresses.read(token, clock.now())
    await need(target)
    if (under.has(target.id)) throw used(target.name, 'being uploaded')
    under.add(target.id)
    try {
      const bytes = await files.store(target.id, from, length)
      const message = `archive received, ${bytes} bytes`
      await write(target, record => ({ record, event: { name: 'build', message } }))
    } catch (error) {
      await files.remove(target.id)
      // Whoever deleted it, or asked for another upload, has the last word.
      await write(target, record => brokeMove(record, `the upload failed: ${messageOf(error)}`)).catch(also => {
        if (!isError(also, 'wrong_state') && !isError(also, 'not_found')) throw also
      })
      throw error
    } finally {
      under.delete(target.id)
    }
  }
}

export const createBuilds = (deps: BuildsDeps): Builds => {
  const { store, transition, clock, ids, sealer, addresses, logs, publicUrl } = deps
  const slot = (): Slot => ({ id: ids.short(32), expiresAt: clock.now() + uploadMs })
  return {
    slot,
    url: (record, one) => `${publicUrl()}/v0/uploads/${addresses.token(record, one)}`,
    receive: receiving(deps),
    async image(actor, { resourceType, name, image, dockerConfig }) {
      if (dockerConfig !== undefined) loginsIn(dockerConfig)
      const build: Slot = {
        ...slot(),
        ...(image === undefined ? {} : { from: image }),
        ...(dockerConfig === undefined ? {} : { logins: sealer.seal(dockerConfig) }),
      }
      const [event, message] = image === undefined ? ['upload', waitsForUpload] : ['fetch', `is made from ${image}`]
      await onNewest(async () => {
        const key = imageBuildKey(actor.workspace, { resourceType, name })
        const record = await store.resources.get(key)
        const by = { createdBy: actor.name, updatedBy: actor.name }
        const internal = { build }
        await transition().write(
          [
            record
              ? { record, event: { name: event, message }, change: { internal } }
              : {
                  create: {
                    ...key,
                    uid: ids.uuid(),
                    metadata: by,
                    spec: { resourceType, name },
                    internal,
                    status: image === undefined ? 'UPLOADING' : 'BUILDING',
                  },
                  message,
                },
          ],
          auditedBy(actor),
        )
      })
      return image === undefined ? build : undefined
    },
    images: async workspace =>
      (await store.resources.list({ kind: imageBuildKind, workspace, sort: 'name:asc', limit: mostImages })).items,
    async forget(workspace, image) {
      const record = await store.resources.get(imageBuildKey(workspace, image))
      if (record) await transition().write([{ remove: record }])
    },
    async log(uid, to, options) {
      // A build that waits for its turn has not begun its log.
      while (options.follow && !logs.isOpen(uid) && !options.signal.aborted) {
        const record = await store.resources.getByUid(uid)
        if (!record || !isMade(record.status)) break
        await clock.sleep(beginEveryMs)
      }
      await logs.read(uid, to, options)
    },
  }
}
