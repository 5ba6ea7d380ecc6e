/** What the host tells the daemon of one of its machines: when it starts, and later over the channel. */
import { route } from '../route.ts'
import { s } from '../schema.ts'

const name = s.string().check(s.regex(/^[^=\0]+$/, 'is not an environment name'))
const value = s.string().check(s.refine(text => !text.includes('\0'), 'must not contain NUL'))

const configuration = s.strictObject({
  /** What the workload's processes inherit, secrets included; names beginning with `HUTCH_` are ignored. */
  environment: s.record(name, value),
})
export type Configuration = s.output<typeof configuration>

/** The first thing a daemon reads, on its standard input: JSON, to the end of it. */
export const bootDocument = s.object({
  channel: s.object({
    /** 32 bytes in base64url; of this start of this machine alone. */
    key: s.string(),
    port: s.int(),
    /** The host's address on the link to the machine; connections from elsewhere are closed. */
    from: s.optional(s.string()),
  }),
  machine: s.object({ id: s.string() }),
  /** Addresses of the name servers that the daemon asks; it does not ask the tenant's. */
  resolvers: s.optional(s.array(s.string())),
  configuration,
})
export type BootDocument = s.output<typeof bootDocument>

export const configure = route('PUT /host/configuration', {
  id: 'host.configure',
  family: 'system',
  summary: 'Replaces what the host has configured; whatever is started from now on gets it',
  body: configuration,
  returns: s.object({ applied: s.int(), removed: s.int() }),
})
