/** The sandbox: a computer of one's own, made from an image, that sleeps when nobody uses it. */
import { s } from '../../shared/schema.ts'
import { expiryOf } from './expiry.ts'
import { internalOf } from '../instances/record.ts'
import type { Resource } from '../store/store.ts'
import { defineKind, statuses, type Consequence, type Kind, type Spec } from '../resources/kind.ts'
import { acceptSandbox, type AcceptDeps } from './accept.ts'
import { sandboxSpec } from './spec.ts'
import { mask, storedSandbox, type StoredEnv, type StoredSandbox } from './stored.ts'

const answers = {
  spec: s.looseObject({
    enabled: s.boolean(),
    region: s.string(),
    runtime: s.looseObject({
      image: s.string(),
      memory: s.int(),
      envs: s.optional(s.array(s.object({ name: s.string(), value: s.string(), secret: s.optional(s.boolean()) }))),
      ports: s.optional(
        s.array(s.object({ target: s.int(), name: s.optional(s.string()), protocol: s.optional(s.string()) })),
      ),
      expires: s.optional(s.string()),
      ttl: s.optional(s.string()),
    }),
    network: s.optional(s.looseObject({})),
    lifecycle: s.optional(s.looseObject({})),
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

/** What cannot change under a running machine. */
const baked = ({ runtime }: StoredSandbox): string =>
  JSON.stringify([runtime.image, runtime.memory, runtime.envs ?? []])

const consequence = (previous: Resource, next: Spec): Consequence | undefined => {
  const before = storedSandbox(previous)
  const after = storedSandbox({ spec: next })
  if (before.enabled && !after.enabled) return { status: 'DEACTIVATING', message: 'disabled' }
  if (!before.enabled && after.enabled) return { status: 'DEPLOYING', message: 'enabled' }
  if (baked(before) === baked(after) || !after.enabled) return undefined
  return {
    status: 'DEPLOYING',
    message: 'deployed anew: image, memory or environment changed',
    // The old machine goes before the new one comes; the image is looked up again.
    internal: { remake: true, image: undefined, attempts: 0 },
  }
}

const statusAt = (row: Resource, now: number): string => {
  if (row.status === 'DELETING' || row.status === 'TERMINATED') return row.status
  const expiry = expiryOf(row)
  return expiry && expiry.at <= now ? 'TERMINATED' : row.status
}

const presentEnv = (env: StoredEnv, open: ((sealed: string) => string) | undefined) =>
  'sealed' in env ? { name: env.name, value: open ? open(env.sealed) : mask, secret: true } : { ...env }

/** Makes the kind; the same for every host but for what it is given. */
export const sandboxKind = (deps: AcceptDeps): Kind =>
  defineKind({
    kind: 'sandbox',
    plural: 'sandboxes',
    scope: 'sandboxes',
    spec: sandboxSpec,
    answers,
    statuses,
    initialStatus: spec => (storedSandbox({ spec }).enabled ? 'DEPLOYING' : 'DEACTIVATED'),
    hiddenStatuses: ['TERMINATED'],
    replaceableStatuses: ['TERMINATED', 'FAILED'],
    removal: 'reconciled',
    paginated: true,
    filterStatusOnEveryVersion: true,
    listsEvents: false,
    byExternalId: true,
    detailedErrors: true,
    accept: async (input, previous) =>
      (await acceptSandbox(input, previous && storedSandbox(previous), deps)) as unknown as Spec,
    consequence,
    statusAt,
    present(row, { now }) {
      const { state, lastUsedAt, errors } = internalOf(row)
      const expiry = expiryOf(row)
      return {
        ...(statusAt(row, now) === 'DEPLOYED' && state ? { state } : {}),
        ...(expiry ? { expiresIn: Math.max(0, Math.ceil((expiry.at - now) / 1000)) } : {}),
        ...(lastUsedAt ? { lastUsedAt: new Date(lastUsedAt).toISOString() } : {}),
        ...(errors && errors.length > 0 ? { errors } : {}),
      }
    },
    presentSpec(row, { showSecrets }) {
      const { runtime, network, ...rest } = storedSandbox(row)
      const { envs, ...plain } = runtime
      const open = showSecrets ? deps.sealer.open : undefined
      const routing = network?.proxy?.routing
      return {
        ...rest,
        runtime: { ...plain, ...(envs ? { envs: envs.map(env => presentEnv(env, open)) } : {}) },
        ...(network
          ? {
              network: routing
                ? {
                    ...network,
                    proxy: { ...network.proxy, routing: routing.map(rule => ({ ...rule, secrets: undefined })) },
                  }
                : network,
            }
          : {}),
      }
    },
  })
