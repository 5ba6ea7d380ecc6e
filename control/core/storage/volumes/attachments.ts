/** Volumes in the specs of workloads: what may be said of them, what is stored, and which disks a machine gets for it. */
import { posix } from 'node:path'
import { below } from '../../../../shared/drives/mountinfo.ts'
import { fail } from '../../../../shared/errors.ts'
import { s, text, type Out } from '../../../../shared/schema.ts'
import type { MachineVolume, Volumes } from '../../../drivers/volumes.ts'
import type { Reference, Resource, Store } from '../../store/store.ts'
import { sizeMbOf, volumeKindName } from './records.ts'

const types = ['persistent', 'ephemeral'] as const

/** A value of `types` in any case. */
const type = s.pipe(
  s.transform((value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value)),
  s.enum(types),
)

/** Most of one workload, each of which is a device of the box. */
const mostVolumes = 8

export const mostSizeMb = 16_777_216

const printable = (path: string): boolean => ![...path].some(character => character < ' ' || character === '\x7f')

export const attachmentShape = s.object({
  name: text(63),
  mountPath: text(512).check(
    s.startsWith('/', 'must be an absolute path'),
    s.refine(path => !path.split('/').includes('..'), 'must not contain ".."'),
    s.refine(printable, 'must not contain control characters'),
  ),
  readOnly: s.nullish(s.boolean()),
  sizeMb: s.nullish(s.int().check(s.gte(1), s.lte(mostSizeMb))),
  type: s.nullish(type),
})

export type AttachmentInput = Out<typeof attachmentShape>

/** As it is stored and answered. */
export interface Attachment {
  readonly name: string
  readonly mountPath: string
  readonly readOnly: boolean
  /** Absent for one of a record. */
  readonly type?: 'ephemeral'
  readonly sizeMb?: number
}

export interface AttachDeps {
  readonly store: Pick<Store, 'resources'>
  /** The driver's; undefined where it has none. */
  readonly volumes: Pick<Volumes, 'check'> | undefined
  /** Throws `no_room` when the disk has not got so much, MB. */
  readonly needRoom: (mb: number) => Promise<void>
}

interface Workload {
  readonly workspace: string
  readonly region: string
}

/** Directories that no volume may cover: the kernel's, and those of the daemon. */
const reserved = ['/proc', '/sys', '/dev', '/.hutch', '/.hutch-drives', '/var/lib/hutchd']

const refuse = (at: number, member: string, reason: string) =>
  fail('invalid_argument', { field: `spec.volumes.${at}.${member}`, reason })

const covers = (one: string, other: string): boolean =>
  below(one, other) !== undefined || below(other, one) !== undefined

const stored = (input: AttachmentInput, at: number): Attachment => {
  const { name, readOnly, sizeMb } = input
  const clean = posix.normalize(input.mountPath)
  const mountPath = clean.length > 1 ? clean.replace(/\/$/, '') : clean
  const covered = reserved.find(path => covers(mountPath, path))
  if (covered) throw refuse(at, 'mountPath', `would cover ${covered}, which the sandbox needs`)
  const plain = { name, mountPath, readOnly: readOnly ?? false }
  if (input.type !== 'ephemeral') return plain
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name))
    throw refuse(at, 'name', 'must be lowercase letters, digits and "-" of an ephemeral volume')
  if (!sizeMb) throw refuse(at, 'sizeMb', 'is missing: an ephemeral volume needs a size')
  return { ...plain, type: 'ephemeral', sizeMb }
}

const checkEach = (attachments: readonly Attachment[]): void => {
  if (attachments.length > mostVolumes)
    throw fail('invalid_argument', { field: 'spec.volumes', reason: `must be at most ${mostVolumes}` })
  for (const [at, one] of attachments.entries())
    for (const other of attachments.slice(0, at)) {
      if (one.name === other.name) throw refuse(at, 'name', `"${one.name}" is there twice`)
      if (covers(one.mountPath, other.mountPath))
        throw refuse(at, 'mountPath', `${one.mountPath} and ${other.mountPath} are inside one another`)
    }
}

const checkRecord = async (
  { store }: AttachDeps,
  { name }: Attachment,
  at: number,
  { workspace, region }: Workload,
): Promise<void> => {
  const record = await store.resources.get({ kind: volumeKindName, workspace, parent: '', name })
  if (!record) throw refuse(at, 'name', `volume "${name}" not found`)
  const { region: there = region } = record.spec as { region?: string }
  if (there !== region)
    throw refuse(at, 'name', `volume "${name}" is in region "${there}", the workload in "${region}"`)
  if (record.status === 'FAILED') throw refuse(at, 'name', `volume "${name}" is FAILED; its events say why`)
}

const same = (one: readonly Attachment[], other: readonly Attachment[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/**
 * The attachments to store; undefined for none. They are made with the workload: an update keeps them, and may say them again. Throws
 * `invalid_argument`, `no_room`, and `not_available` where this host has no volumes.
 */
export const acceptAttachments = async (
  input: readonly AttachmentInput[] | null | undefined,
  previous: { readonly volumes?: readonly Attachment[] } | undefined,
  workload: Workload,
  deps: AttachDeps,
): Promise<readonly Attachment[] | undefined> => {
  if (!input) return previous?.volumes
  const wanted = input.map(stored)
  checkEach(wanted)
  if (previous) {
    if (same(wanted, previous.volumes ?? [])) return previous.volumes
    throw fail('invalid_argument', {
      field: 'spec.volumes',
      reason: 'cannot be changed: volumes are attached at creation',
    })
  }
  if (wanted.length === 0) return undefined
  await needVolumes(deps)
  for (const [at, one] of wanted.entries()) if (!one.type) await checkRecord(deps, one, at, workload)
  const ownMb = wanted.reduce((sum, { sizeMb = 0 }) => sum + sizeMb, 0)
  if (ownMb > 0) await deps.needRoom(ownMb)
  return wanted
}

/** Throws `not_available` with the reason. */
export const needVolumes = async ({ volumes }: Pick<AttachDeps, 'volumes'>): Promise<void> => {
  if (!volumes) throw fail('not_available', { what: 'volumes: its driver has none' })
  try {
    await volumes.check()
  } catch (error) {
    throw fail('not_available', { what: `volumes: ${error instanceof Error ? error.message : String(error)}` }, error)
  }
}

/** Volumes that a workload has to itself; they have to be there. */
export const attachmentReferences = (attachments: readonly Attachment[] = []): Reference[] =>
  attachments.flatMap(({ name, type: kind }, at) =>
    kind === 'ephemeral'
      ? []
      : [{ field: `spec.volumes.${at}.name`, kind: volumeKindName, parent: '', name, exclusive: true }],
  )

const volumeOf = async (
  { resources }: Pick<Store, 'resources'>,
  workspace: string,
  { name, mountPath, readOnly, sizeMb }: Attachment,
): Promise<MachineVolume> => {
  if (sizeMb !== undefined) return { id: name, mountPath, readOnly, sizeMb, ephemeral: true }
  const record: Resource | undefined = await resources.get({ kind: volumeKindName, workspace, parent: '', name })
  if (!record || record.status === 'FAILED')
    throw fail('invalid_argument', {
      field: 'spec.volumes',
      reason: `volume "${name}" ${record ? 'is FAILED' : 'is gone'}`,
    })
  if (record.status === 'DEPLOYING') throw fail('busy', { what: `volume "${name}" is being filled`, next: 'wait' })
  return { id: record.uid, mountPath, readOnly, sizeMb: sizeMbOf(record), ephemeral: false }
}

/** What a machine of a workload is to have attached, for its plan. Throws `busy` while one of them is being filled. */
export const machineVolumes = (
  store: Pick<Store, 'resources'>,
  workspace: string,
  attachments: readonly Attachment[] = [],
): Promise<MachineVolume[]> => Promise.all(attachments.map(one => volumeOf(store, workspace, one)))
