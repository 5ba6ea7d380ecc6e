/** A sandbox as the API answers it. */
import { s } from '../../../../shared/schema.ts'
import { historyOf } from '../../machines/history.ts'
import type { Found, PresentOptions } from '../../records/kind.ts'
import { presentEnvs } from '../../records/sealing.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import type { Resource } from '../../store/store.ts'
import { expiryOf } from './expiry.ts'
import { presentNetwork } from './network/present.ts'
import { storedSandbox } from './stored.ts'

/** Shape of the answer. */
export const answers = {
  spec: s.looseObject({
    enabled: s.boolean(),
    region: s.string(),
    runtime: s.looseObject({
      image: s.string(),
      memory: s.int(),
      storageMb: s.optional(s.int()),
      entrypoint: s.optional(s.union([s.literal(true), s.array(s.string())])),
      envs: s.optional(s.array(s.object({ name: s.string(), value: s.string(), secret: s.optional(s.boolean()) }))),
      ports: s.optional(
        s.array(s.object({ target: s.int(), name: s.optional(s.string()), protocol: s.optional(s.string()) })),
      ),
      expires: s.optional(s.string()),
      ttl: s.optional(s.string()),
    }),
    fromSnapshot: s.optional(s.string()),
    network: s.optional(s.looseObject({})),
    lifecycle: s.optional(s.looseObject({})),
    volumes: s.optional(s.array(s.looseObject({ name: s.string(), mountPath: s.string(), readOnly: s.boolean() }))),
  }),
  more: {
    state: s.optional(s.enum(['RUNNING', 'STANDBY'])),
    expiresIn: s.optional(s.int()),
    lastUsedAt: s.optional(s.string()),
    errors: s.optional(
      s.array(s.object({ code: s.string(), message: s.string(), time: s.string(), fatal: s.boolean() })),
    ),
  },
}

/** Time alone ends a sandbox, whether or not the loop has got there. */
export const statusAt = ({ record, instances }: Found, now: number): string => {
  if (record.status === 'DELETING' || record.status === 'TERMINATED') return record.status
  const expiry = expiryOf(record, instances)
  return expiry && expiry.at <= now ? 'TERMINATED' : record.status
}

const states: Readonly<Record<string, string>> = { running: 'RUNNING', standby: 'STANDBY' }

/** RUNNING or STANDBY while DEPLOYED. */
const stateOf = (found: Found, now: number): string | undefined =>
  statusAt(found, now) === 'DEPLOYED'
    ? found.instances.map(({ status }) => states[status]).find(state => state !== undefined)
    : undefined

/** What is answered beside metadata, spec, status and events. */
export const presentSandbox = (found: Found, { now }: PresentOptions): Record<string, unknown> => {
  const { record, instances } = found
  const state = stateOf(found, now)
  const expiry = expiryOf(record, instances)
  const { lastUsedAt, errors } = historyOf(record, instances)
  return {
    ...(state ? { state } : {}),
    ...(expiry ? { expiresIn: Math.max(0, Math.ceil((expiry.at - now) / 1000)) } : {}),
    ...(lastUsedAt ? { lastUsedAt: new Date(lastUsedAt).toISOString() } : {}),
    ...(errors.length > 0 ? { errors } : {}),
  }
}

/** The spec with secrets masked, and those of proxy rules left out. */
export const presentSpec = (record: Resource, { showSecrets }: PresentOptions, sealer: Sealer) => {
  const { runtime, network, networkTexts, held: _, from, ...rest } = storedSandbox(record)
  const { envs, ...plain } = runtime
  const open = showSecrets ? sealer.open : undefined
  return {
    ...rest,
    ...(from ? { fromSnapshot: from.id } : {}),
    runtime: { ...plain, ...(envs ? { envs: presentEnvs(envs, open) } : {}) },
    ...(network ? { network: presentNetwork({ network, ...(networkTexts ? { networkTexts } : {}) }) } : {}),
  }
}
