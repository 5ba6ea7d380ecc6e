/** Snapshots as they are sent and answered: `{name, source}`, and members beside each other. */
import { s, text } from '../../../../../shared/schema.ts'
import type { Presented } from '../../../records/present.ts'
import type { Wire } from '../../../records/wire.ts'
import type { Resource } from '../../../store/store.ts'
import { storedSnapshot } from './stored.ts'

export const mode = s.enum(['auto', 'files', 'memory'])

const answer = s.object({
  id: s.string(),
  name: s.string(),
  status: s.enum(['pending', 'ready', 'failed']),
  workspace: s.string(),
  createdAt: s.string(),
  createdBy: s.string(),
  sandboxName: s.string(),
  source: s.object({ kind: s.literal('sandbox'), name: s.string(), deleted: s.boolean() }),
  spec: s.object({
    generation: s.string(),
    image: s.string(),
    memory: s.int(),
    ports: s.array(s.looseObject({ target: s.int() })),
    region: s.string(),
    volumes: s.array(s.looseObject({ name: s.string(), mountPath: s.string(), readOnly: s.boolean() })),
  }),
  mode: s.literal('files'),
  /** How long the source stood still, ms. */
  pauseMs: s.optional(s.number()),
  /** Of the disk. */
  bytes: s.optional(s.int()),
})

export const snapshotAnswer = answer

const render = ({ metadata, status }: Presented, record: Resource) => {
  const { id, mode, source, sandbox, generation, bytes, pauseMs } = storedSnapshot(record)
  const { runtime, region, volumes = [] } = sandbox
  return {
    id,
    name: record.name,
    status,
    workspace: record.workspace,
    createdAt: metadata.createdAt,
    createdBy: metadata.createdBy,
    sandboxName: source.name,
    source: { kind: source.kind, name: source.name, deleted: source.deleted ?? false },
    spec: { generation, image: runtime.image, memory: runtime.memory, ports: runtime.ports ?? [], region, volumes },
    mode,
    ...(bytes === undefined ? {} : { bytes, pauseMs }),
  }
}

const body = s.object({
  name: s.nullish(text(49)),
  source: s.object({ kind: s.nullish(s.literal('sandbox')), name: text(49) }),
  mode: s.nullish(mode),
})

export interface SnapshotBody {
  readonly name?: string | null
  readonly source: { readonly name: string }
  readonly mode?: string | null
}

export const snapshotWire: Wire = {
  create: body,
  update: body,
  read: ({ name, source, mode }: SnapshotBody) => ({
    metadata: name ? { name } : {},
    spec: { source: source.name, mode: mode ?? 'auto' },
  }),
  answer,
  render,
}
