/** What may be said about a sandbox in a create or update. Lists and maps also come as text holding JSON. */
import { isInstant } from '../../../../shared/instant.ts'
import { described, jsonOr, s, text, type Out, type Shape } from '../../../../shared/schema.ts'
import { tooLong, variableBytes, variableName } from '../../../../shared/variables.ts'
import { attachmentShape } from '../../storage/volumes/attachments.ts'
import { network } from './network/shape.ts'
import { standby } from './standby.ts'

const list = <S extends Shape>(item: S, max = 1000) => jsonOr(s.array(item).check(s.maxLength(max)))

const duration = () =>
  s.nullish(s.string().check(s.regex(/^(\d{1,9}[smhdw])?$/, 'must be an integer followed by s, m, h, d or w')))

/** Empty stands for none. */
const instant = () =>
  s.nullish(s.string().check(s.refine(value => value === '' || isInstant(value), 'must be an ISO 8601 instant')))

/** A value of `names` in any case, answered as listed. */
const oneOf = <const N extends readonly [string, ...string[]]>(names: N) =>
  s.pipe(
    s.transform((value: unknown) => {
      if (typeof value !== 'string') return value
      return names.find(name => name.toLowerCase() === value.toLowerCase()) ?? value
    }),
    s.enum(names),
  )

export const env = described(
  s
    .object({
      name: variableName,
      value: s.nullish(text(variableBytes)),
      secret: s.nullish(s.boolean()),
    })
    .check(
      s.check(({ value: { name, value }, issues }) => {
        const message = tooLong(name, value ?? '')
        if (message !== undefined) issues.push({ code: 'custom', message, input: value, path: ['value'] })
      }),
    ),
  { title: 'EnvironmentVariable' },
)

const reservedPorts = [80, 443]
export const port = described(
  s.object({
    target: s.int().check(
      s.gte(1),
      s.lte(65_535),
      s.refine(value => !reservedPorts.includes(value), `must not be one of the reserved ${reservedPorts.join(', ')}`),
    ),
    name: s.nullish(text(64)),
    protocol: s.nullish(oneOf(['HTTP', 'TCP', 'UDP', 'TLS'])),
  }),
  { title: 'SandboxPort' },
)

const expirationPolicy = s
  .object({
    action: s.nullish(oneOf(['delete'])),
    type: oneOf(['ttl-idle', 'ttl-max-age', 'date']),
    value: text(64),
  })
  .check(
    s.check(({ value: policy, issues }) => {
      const { type, value } = policy
      const right = type === 'date' ? isInstant(value) : /^\d{1,9}[smhdw]$/.test(value)
      const message = type === 'date' ? 'must be an ISO 8601 instant' : 'must be an integer followed by s, m, h, d or w'
      if (!right) issues.push({ code: 'custom', message, input: value, path: ['value'] })
    }),
  )

const extraArgs = s
  .record(s.string(), s.enum(['enabled', 'disabled']))
  .check(
    s.refine(
      args => Object.keys(args).every(key => ['iptables', 'nfs', 'tun'].includes(key)),
      'may have iptables, nfs and tun only',
    ),
  )

/** Bounds of `runtime.memory`, in MB. */
export const memoryMb = { min: 64, max: 262_144, fallback: 4096 } as const

/** At most; 0 is as good as nothing said. */
const storageMb = { max: 1_048_576 } as const

/** `true` for the image's own, or a program with its arguments. */
const entrypoint = s.union(
  [
    s.boolean(),
    s.array(text(4_096)).check(
      s.minLength(1),
      s.maxLength(64),
      s.refine(words => JSON.stringify(words).length < 32_768, 'must be shorter than 32 KiB'),
    ),
  ],
  {
    error: "must be true for the image's own, or a list of words: a program and its arguments",
  },
)

const runtime = described(
  s.object({
    image: s.nullish(text(512)),
    entrypoint: s.nullish(jsonOr(entrypoint)),
    memory: s.nullish(s.int().check(s.gte(memoryMb.min), s.lte(memoryMb.max))),
    storageMb: s.nullish(s.int().check(s.gte(0), s.lte(storageMb.max))),
    envs: s.nullish(list(env)),
    ports: s.nullish(list(port, 100)),
    expires: instant(),
    extraArgs: s.nullish(jsonOr(extraArgs)),
    terminationGracePeriodSeconds: s.nullish(s.int().check(s.gte(0), s.lte(3600))),
    ttl: duration(),
  }),
  { title: 'SandboxRuntime' },
)

const lifecycle = described(
  s.object({
    expirationPolicies: s.nullish(list(expirationPolicy, 20)),
    terminatedRetention: duration(),
    standby: s.nullish(standby),
  }),
  { title: 'SandboxLifecycle' },
)

export const sandboxSpec = s.object({
  enabled: s.nullish(s.boolean()),
  /** Id or name of the snapshot that a new one begins with. */
  fromSnapshot: s.nullish(text(64)),
  region: s.nullish(text(63)),
  vpc: s.nullish(text(63)),
  policies: s.nullish(list(text(63), 100)),
  volumes: s.nullish(list(attachmentShape, 100)),
  lifecycle: s.nullish(lifecycle),
  runtime: s.nullish(runtime),
  network: s.nullish(network),
})

export type SandboxSpecInput = Out<typeof sandboxSpec>
export type RuntimeInput = Out<typeof runtime>
export type LifecycleInput = Out<typeof lifecycle>
