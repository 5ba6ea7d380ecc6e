/** What the host tells the daemon of one of its machines: when it starts, and later over the channel. */
import { route } from '../route.ts'
import { s } from '../schema.ts'

const name = s.string().check(s.regex(/^[^=\0]+$/, 'is not an environment name'))
const value = s.string().check(s.refine(text => !text.includes('\0'), 'must not contain NUL'))
const fileName = s.string().check(s.regex(/^[A-Za-z0-9][\w.-]{0,254}$/, 'is not the name of a file'))

const whose = {
  name: s.string(),
  workspace: s.string(),
  workspaceId: s.string(),
  labels: s.record(s.string(), s.string()),
}

/** Whose machine it is. */
const identity = s.strictObject(whose)
export type MachineIdentity = s.output<typeof identity>

const members = {
  /**
   * What the workload's processes inherit, secrets included, the way out of a machine that is held to an outbound policy among
   * them; names beginning with `HUTCH_` are ignored. Also names the user that workloads run as, as at the start.
   */
  environment: s.record(name, value),
  /** Unknown to the daemon when it is left out: then its environment says who it is. */
  identity: s.optional(identity),
}

const configuration = s.object(members)
export type Configuration = s.output<typeof configuration>

/** Files of /etc, by their names, are told while the machine runs only: at the start they are there. */
const change = s.strictObject({ ...members, etc: s.optional(s.record(fileName, s.string())) })
export type ConfigurationChange = s.output<typeof change>

/** The first thing a daemon reads, on its standard input: JSON, to the end of it. */
export const bootDocument = s.object({
  channel: s.object({
    /** 32 bytes in base64url; of this start of this machine alone. */
    key: s.string(),
    port: s.int(),
    /** The host's address on the link to the machine; connections from elsewhere are closed. */
    from: s.optional(s.string()),
  }),
  machine: s.object({
    id: s.string(),
    /** Started ahead of need, for nobody: it is to be claimed. */
    anonymous: s.optional(s.boolean()),
    /** What it is bounded to; the daemon asks the system where it is not told. */
    memoryBytes: s.optional(s.int()),
    /** Where its daemon can keep nothing out of its tenant's tree: what it keeps there is sealed with this. */
    seal: s.optional(
      s.object({
        /** 32 bytes in base64url, the same at each start of this machine. */
        key: s.string(),
        /** No start before had a key: what is there without a seal is believed. */
        legacy: s.boolean(),
      }),
    ),
  }),
  /** Addresses of the name servers that the daemon asks; it does not ask the tenant's. */
  resolvers: s.optional(s.array(s.string())),
  configuration,
})
export type BootDocument = s.output<typeof bootDocument>

/** What a daemon is told that was started for nobody: `memoryBytes` is what its machine is bounded to from now on. */
const claiming = s.object({ ...members, memoryBytes: s.optional(s.int()) })
export type Claiming = s.output<typeof claiming>

export const claim = route('PUT /host/claim', {
  id: 'host.claim',
  family: 'system',
  summary: 'Makes a daemon that was started for nobody the one of a machine with this configuration; once',
  body: claiming,
  returns: s.object({ claimed: s.literal(true) }),
  errors: ['wrong_state'],
})

export const terminate = route('POST /host/termination', {
  id: 'host.terminate',
  family: 'system',
  summary: 'Asks everything in the machine to end (SIGTERM), once, and answers how many processes are left',
  returns: s.object({ left: s.int() }),
})

export const configure = route('PUT /host/configuration', {
  id: 'host.configure',
  family: 'system',
  summary: 'Replaces what the host has configured, all of it or nothing; whatever is started from now on gets it',
  body: change,
  returns: s.object({
    applied: s.int(),
    removed: s.int(),
    /** Settings that have changed and that a daemon takes at its start only. */
    unapplied: s.array(s.string()),
  }),
  errors: ['invalid_argument', 'operation_failed'],
})

export const showIdentity = route('GET /host/identity', {
  id: 'host.identity',
  family: 'system',
  summary: 'Whose sandbox it is, as its host has said last, and the user that workloads run as',
  returns: s.object({
    ...whose,
    /** '' is root. */
    user: s.string(),
  }),
})
