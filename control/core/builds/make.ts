/** Makes the image of one record: by a build of what was uploaded, or from an image that is there or in a registry. */
import { fail, isError } from '../../../shared/errors.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Image, Images } from '../images/images.ts'
import type { KnownLogin } from '../images/pulling.ts'
import { remoteOf } from '../images/reference.ts'
import type { StoredNetwork } from '../kinds/sandbox/network/stored.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Build } from './builder/build.ts'
import type { Making } from './engine.ts'
import { imageBuildKind, type ImageBuildSpec } from './image-build.ts'
import { loginsIn } from './logins.ts'
import type { UploadFiles } from './uploads/files.ts'

export interface MakeDeps {
  readonly images: Pick<Images, 'need' | 'keyOf' | 'built'>
  readonly build: Build
  readonly files: UploadFiles
  readonly sealer: Sealer
  readonly clock: Clock
  /** Logins that pulls of a workspace use while an image is fetched. */
  readonly lend: (workspace: string, host: string, login: KnownLogin | undefined) => void
}

/** Type and name of the image that a record has made for it. */
const imageOfRecord = ({ kind, name, spec }: Making['record']): ImageBuildSpec =>
  kind === imageBuildKind ? (spec as unknown as ImageBuildSpec) : { resourceType: kind, name }

const pauseMs = 500

const untilThere = async (
  { images, clock }: MakeDeps,
  from: string,
  { record, signal, say }: Making,
): Promise<Image> => {
  for (let told = false; ; told = true)
    try {
      signal.throwIfAborted()
      return await images.need(from, record.workspace)
    } catch (error) {
      if (!isError(error, 'busy')) throw error
      if (!told) say(`${error.message}\n`)
      await clock.sleep(pauseMs)
    }
}

/** Converts an image: it gets a name of the workspace's own. */
const convert = async (deps: MakeDeps, making: Making, from: string, keys: readonly string[]): Promise<void> => {
  const { images, sealer, lend } = deps
  const { record, slot } = making
  const { workspace } = record
  const host = remoteOf(from)?.host
  const login = host && slot.logins ? loginsIn(sealer.open(slot.logins)).get(host) : undefined
  if (host && login) lend(workspace, host, { ...login, version: slot.id })
  try {
    const { digest } = await untilThere(deps, from, making)
    await images.built.name(workspace, keys, { digest, size: 0 })
  } finally {
    if (host && login) lend(workspace, host, undefined)
  }
}

/** Resolves with the reference of the image. */
export const createMake =
  (deps: MakeDeps) =>
  async (making: Making): Promise<string> => {
    const { images, build, files, sealer } = deps
    const { record, slot, tag, say, signal } = making
    const { resourceType, name } = imageOfRecord(record)
    const reference = `${resourceType}/${name}:${tag}`
    const keys = [reference, `${resourceType}/${name}`].flatMap(one => images.keyOf(one) ?? [])
    if (slot.from !== undefined) await convert(deps, making, slot.from, keys)
    else {
      const network = record.spec['network'] as StoredNetwork | undefined
      const logins = slot.logins === undefined ? undefined : sealer.open(slot.logins)
      const { workspace } = record
      await build({ workspace, file: files.path(slot.id), references: keys, network, logins, say, signal })
    }
    if (signal.aborted) throw fail('unprocessable', { reason: 'it was cancelled' })
    return reference
  }
