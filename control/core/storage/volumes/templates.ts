/**
 * Contents of volume templates: `<data directory>/templates/<uid>/<id of a version>/data`. A version is unpacked beside its place, and is
 * there when the record says so; directories that no record names are removed when the host starts, and when a record has changed.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import { errno, fail, isError } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import { syncDirectory } from '../../../base/durable.ts'
import { onNewest, type Transition } from '../../transitions/transition.ts'
import type { Resource, Store } from '../../store/store.ts'
import { unpackTemplate, type Bounds, type Unpacked } from './unpack.ts'
import { templateState, versionOf, withVersion, type TemplateState, type Version } from './versions.ts'

export interface Found {
  /** With its version: `name:3`. */
  readonly template: string
  /** Of a volume that names no size. */
  readonly sizeMb: number
  /** What its contents need. */
  readonly leastMb: number
}

export interface Templates {
  /** The version that `name:version` or `name:latest` leads to. Throws `invalid_argument`. */
  find(workspace: string, template: string): Promise<Found>
}

export interface Upload {
  /** Of the template's record. */
  readonly uid: string
  /** Label of the version; the next number unless given. One of that label is replaced. */
  readonly version?: string | undefined
  /** A tar. */
  readonly stream: Readable
  readonly signal?: AbortSignal
}

export interface TemplateContents {
  /**
   * Makes a version of what a tar holds. Throws `invalid_argument` for contents that a template must not have, which the template
   * then tells of; `not_found` for a template that is gone.
   */
  take(upload: Upload): Promise<Version>
  /** Runs a task with the directory of a version, which stays meanwhile. Throws `not_found`. */
  use<T>(workspace: string, template: string, task: (directory: string) => Promise<T>): Promise<T>
  /** Removes what the record of that uid does not name. */
  tidy(uid: string): Promise<void>
  /** Uids of all that have files. */
  list(): Promise<string[]>
}

const label = /^[A-Za-z0-9._-]{1,63}$/

/** Of one upload. */
const bounds: Bounds = { bytes: 64 * 2 ** 30, entries: 1_000_000 }

const mb = 2 ** 20

/** What of a file system holds it: a sixteenth for tables, an inode for 8 KiB, a journal, and directories of their own. */
const leastMbOf = ({ blockBytes, entries }: Unpacked): number =>
  Math.ceil(Math.max((blockBytes + entries * 512) * 1.07, entries * 8_192) / mb) + 8

const splitName = (template: string): readonly [name: string, version: string] => {
  const [name = '', version = ''] = template.split(':')
  return [name, version]
}

/** `kind` is the name of the kind of templates. */
export const templatesIn = (store: Pick<Store, 'resources'>, kind: string): Templates => ({
  async find(workspace, template) {
    const [name, label_] = splitName(template)
    const no = (reason: string) => fail('invalid_argument', { field: 'spec.template', reason })
    const record = await store.resources.get({ kind, workspace, parent: '', name })
    if (!record) throw no(`volume template "${name}" not found`)
    const found = versionOf(templateState(record), label_)
    if (!found) throw no(`volume template "${name}" has no version "${label_}"`)
    const { leastMb } = found
    const { defaultSize } = record.spec as { defaultSize?: number }
    return { template: `${name}:${found.name}`, sizeMb: defaultSize ?? Math.max(1_024, leastMb), leastMb }
  },
})

export interface ContentsDeps {
  readonly realDataDir: string
  readonly kind: string
  readonly store: Pick<Store, 'resources'>
  readonly transition: () => Transition
  readonly clock: Clock
  readonly ids: Ids
}

const namesIn = async (directory: string): Promise<string[]> =>
  readdir(directory).catch((error: unknown) => {
    if (errno(error) === 'ENOENT') return []
    throw error
  })

interface Work extends ContentsDeps {
  /** Of all templates. */
  readonly directory: string
  readonly alone: ReturnType<typeof keyedMutex>
  /** Names of directories that are being unpacked. */
  readonly underWay: Set<string>
}

const need = async ({ store, kind }: Work, uid: string): Promise<Resource> => {
  const record = await store.resources.getByUid(uid)
  if (!record) throw fail('not_found', { kind, name: uid })
  return record
}

const update = (work: Work, uid: string, change: (state: TemplateState) => TemplateState): Promise<void> =>
  onNewest(async () => {
    const record = await need(work, uid)
    const template = change(templateState(record))
    await work.transition().write([{ record, change: { internal: { ...record.internal, template } } }])
  })

/** Writes down a version whose directory is there. */
const keep = async (work: Work, uid: string, given: string | undefined, made: Omit<Version, 'name'>) => {
  let version: Version = { ...made, name: given ?? '' }
  await update(work, uid, state => {
    const { counted = 0 } = state
    version = { ...made, name: given ?? String(counted + 1) }
    return withVersion(state, version, given ? Math.max(counted, Number(given) || 0) : counted + 1)
  })
  return version
}

const tidy = async ({ store, directory, underWay }: Work, uid: string): Promise<void> => {
  const record = await store.resources.getByUid(uid)
  const place = join(directory, uid)
  const named = new Set(record ? templateState(record).versions.map(({ id }) => id) : [])
  for (const name of await namesIn(place))
    if (!named.has(name) && !underWay.has(name)) await rm(join(place, name), { recursive: true, force: true })
  if (!record) await rm(place, { recursive: true, force: true })
}

const take = async (work: Work, { uid, version, stream, signal }: Upload): Promise<Version> => {
  const { ids, clock, directory, alone, underWay } = work
  if (version !== undefined && (version === 'latest' || !label.test(version)))
    throw fail('invalid_argument', { field: 'version', reason: 'must be 1 to 63 letters, digits, ".", "_" or "-"' })
  await need(work, uid)
  const id = ids.short(16)
  const name = `.${id}`
  const unpacked = join(directory, uid, name)
  underWay.add(name)
  try {
    await mkdir(join(unpacked, 'data'), { recursive: true, mode: 0o700 })
    const seen = await unpackTemplate(stream, join(unpacked, 'data'), bounds, signal)
    return await alone(uid, async () => {
      await rename(unpacked, join(directory, uid, id))
      await syncDirectory(join(directory, uid))
      const uploadedAt = new Date(clock.now()).toISOString()
      return keep(work, uid, version, { id, contentSize: seen.bytes, leastMb: leastMbOf(seen), uploadedAt })
    })
  } catch (error) {
    if (isError(error, 'invalid_argument')) await update(work, uid, state => ({ ...state, failed: error.message }))
    throw error
  } finally {
    underWay.delete(name)
    await alone(uid, () => tidy(work, uid))
  }
}

const use = async <T>(
  work: Work,
  workspace: string,
  template: string,
  task: (directory: string) => Promise<T>,
): Promise<T> => {
  const { store, kind, alone, directory } = work
  const [name, version] = splitName(template)
  const record = await store.resources.get({ kind, workspace, parent: '', name })
  return alone(record?.uid ?? '', async () => {
    const found = record && versionOf(templateState(await need(work, record.uid)), version)
    if (!record || !found) throw fail('not_found', { kind: 'version of volume template', name: template })
    return task(join(directory, record.uid, found.id))
  })
}

export const templateContents = (deps: ContentsDeps): TemplateContents => {
  const directory = join(deps.realDataDir, 'templates')
  const work: Work = { ...deps, directory, alone: keyedMutex(), underWay: new Set() }
  return {
    take: upload => take(work, upload),
    use: (workspace, template, task) => use(work, workspace, template, task),
    tidy: uid => work.alone(uid, () => tidy(work, uid)),
    list: () => namesIn(directory),
  }
}
