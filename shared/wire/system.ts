/** The daemon itself: what it is, how it is, its environment, its replacement. */
import { route } from '../route.ts'
import { described, flag, s } from '../schema.ts'

const welcome = described(s.object({ message: s.string(), documentation: s.string(), description: s.string() }), {
  title: 'Welcome',
})

const welcomeAt = (method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH') =>
  route(`${method} /`, {
    id: `system.welcome.${method.toLowerCase()}`,
    family: 'system',
    summary: 'What this is and where its documentation lies',
    returns: welcome,
  })

export const welcomes = (['GET', 'POST', 'PUT', 'DELETE', 'PATCH'] as const).map(welcomeAt)

export const lastUpgrade = described(
  s.object({
    status: s.enum(['idle', 'running', 'completed', 'failed']),
    step: s.enum(['none', 'starting', 'download', 'validate', 'replace', 'completed', 'skipped']),
    version: s.string(),
    lastAttempt: s.optional(s.string()),
    error: s.optional(s.string()),
    downloadUrl: s.optional(s.string()),
    binaryPath: s.optional(s.string()),
    bytesDownloaded: s.optional(s.number()),
  }),
  { title: 'LastUpgrade' },
)
export type LastUpgrade = s.output<typeof lastUpgrade>

export const health = route('GET /health', {
  id: 'system.health',
  summary: 'How the daemon is, and how its last upgrade went',
  returns: s.object({
    status: s.literal('ok'),
    version: s.string(),
    gitCommit: s.string(),
    buildTime: s.string(),
    goVersion: s.string(),
    os: s.string(),
    arch: s.string(),
    uptime: s.string(),
    uptimeSeconds: s.number(),
    upgradeCount: s.int(),
    startedAt: s.string(),
    lastUpgrade,
  }),
})

/** A daemon that was quiet for so long, ms, has collected what its start has left. */
export const tidyAfterMs = 10_000

/** What the host asks before it lets the sandbox sleep, and before it mounts a drive for the user that workloads run as. */
export const activity = route('GET /system/activity', {
  id: 'system.activity',
  summary: 'What keeps the sandbox awake besides open connections, and whom drives should belong to',
  /** It is to sleep at once if nothing does: what its start has left is collected before. */
  query: s.object({ sleeps: flag() }),
  returns: s.object({
    keepAlive: s.int(),
    /** Decimal ids, '' where workloads run as root and nothing else is configured. */
    drives: s.object({ uidMap: s.string(), gidMap: s.string() }),
  }),
})

export const reloadEnvironment = route('POST /environment/reload', {
  id: 'system.environment.reload',
  summary: 'Reads the metadata document and applies its variables to everything started from now on',
  returns: s.object({ generation: s.int(), applied: s.int(), removed: s.int() }),
  errors: ['not_found', 'operation_failed'],
})

export const upgrade = route('POST /upgrade', {
  id: 'system.upgrade',
  summary: 'Replaces the daemon in the background; /health tells how it goes',
  // A malformed body counts as none, so the handler reads it itself.
  accepts: 'stream',
  document: {
    requestBody: {
      required: false,
      content: {
        'application/json': {
          schema: {
            properties: {
              version: { description: 'A release; `latest` when it is absent or no text' },
              baseUrl: { description: 'Told back; releases come from where the daemon was told' },
            },
          },
        },
      },
    },
  },
  returns: s.object({ message: s.string(), version: s.string(), baseUrl: s.string() }),
  errors: ['invalid_argument', 'wrong_state'],
})

/** Shows what a crash in a handler looks like from outside; only where the platform calls itself `dev`. */
export const panic = route('GET /debug/panic', {
  id: 'system.panic',
  summary: 'Fails as a defect would; only where the platform calls itself dev',
  statuses: { 500: 'Always' },
})
