/** What the entries of each catalogue look like, in an operator's file and in answers. */
import { s, text } from '../../../shared/schema.ts'

const name = text(63).check(
  s.regex(/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/, 'must be lower-case letters, digits, hyphens and dots'),
)
const words = s.optional(s.array(text(256)))
const map = s.optional(s.record(s.string(), s.string()))
const source = text(2048).check(
  s.regex(
    /^(https?|git|ssh|file):\/\/\S+$|^\/(?!\/)\S*$/,
    'must be an http, https, git, ssh or file address, or an absolute path',
  ),
)

/** How an entry of either hub is shown. */
const shown = {
  displayName: s.optional(text(256)),
  description: s.optional(text(4096)),
  longDescription: s.optional(text(65_536)),
  icon: s.optional(text(65_536)),
  categories: words,
  coming_soon: s.optional(s.boolean()),
  enterprise: s.optional(s.boolean()),
  hidden: s.optional(s.boolean()),
}

const port = s.strictObject({
  name: s.optional(text(64)),
  protocol: s.optional(s.enum(['HTTP', 'TCP', 'UDP', 'TLS'])),
  target: s.int().check(s.gte(1), s.lte(65_535)),
})

const sandbox = s.strictObject({
  name,
  ...shown,
  image: text(512),
  memory: s.optional(s.int().check(s.gte(64))),
  ports: s.optional(s.array(port)),
  tags: s.optional(text(1024)),
  url: s.optional(source),
})

const mcpServer = s.strictObject({
  name,
  ...shown,
  image: s.optional(text(512)),
  url: s.optional(source),
  integration: s.optional(text(63)),
  transport: s.optional(s.enum(['websocket', 'http-stream'])),
  hiddenSecrets: words,
  entrypoint: s.optional(
    s.strictObject({ command: s.optional(text(4096)), args: words, superGatewayArgs: words, env: map }),
  ),
  form: s.optional(
    s.strictObject({
      config: s.optional(s.looseObject({})),
      secrets: s.optional(s.looseObject({})),
      oauth: s.optional(s.strictObject({ type: s.optional(text(63)), scope: words })),
    }),
  ),
  createdAt: s.optional(s.string()),
  updatedAt: s.optional(s.string()),
})

const count = s.optional(s.int().check(s.gte(0)))

const template = s.strictObject({
  name,
  description: s.optional(text(4096)),
  url: source,
  defaultBranch: s.optional(text(256)),
  sha: s.optional(text(64)),
  icon: s.optional(text(65_536)),
  iconDark: s.optional(text(65_536)),
  topics: words,
  downloadCount: count,
  forksCount: count,
  starCount: count,
  variables: s.optional(
    s.array(
      s.strictObject({
        name: text(256),
        description: s.optional(text(4096)),
        integration: s.optional(text(63)),
        path: s.optional(text(1024)),
        secret: s.optional(s.boolean()),
      }),
    ),
  ),
})

const tokens = s.optional(
  s.strictObject({ received: s.optional(s.string()), sent: s.optional(s.string()), total: s.optional(s.string()) }),
)

const integration = s.strictObject({
  name,
  /** By path: `/chat/completions`. */
  endpoints: s.record(
    s.string(),
    s.strictObject({
      method: s.optional(s.string()),
      body: s.optional(s.string()),
      streamKey: s.optional(s.string()),
      models: words,
      ignoreModels: words,
      token: tokens,
      streamToken: tokens,
    }),
  ),
  /** Sent to the provider; `{{apiKey}}` is that member of a connection's secrets or settings. */
  headers: map,
  params: map,
  /** `baseUrl`: where its connections go that name none. */
  additionalInfos: map,
  organizations: s.optional(s.array(s.record(s.string(), s.string()))),
  repositories: s.optional(s.array(s.looseObject({}))),
})

const feature = s.strictObject({
  name: text(63).check(s.minLength(1)),
  enabled: s.boolean(),
  variant: s.optional(text(63)),
  payload: s.optional(s.record(s.string(), s.unknown())),
})

const change = s.strictObject({
  date: text(32).check(s.regex(/^\d{4}-\d\d-\d\d/, 'must be a date such as 2026-04-28')),
  title: text(256),
  content: text(65_536),
})

const place = s.strictObject({
  /** One of the regions of this host. */
  name: text(63),
  location: s.optional(text(63)),
  /** Codes: `us`, `na`. */
  country: s.optional(text(63)),
  continent: s.optional(text(63)),
})

const usd = s.number().check(s.gte(0))

/** What a provider takes for a million tokens of a model, from a day on. */
const modelPrice = s.strictObject({
  /** A provider type: `openai`. */
  provider: text(63),
  /** As the provider calls it; one that ends with a star stands for all that begin so. */
  model: text(256),
  from: text(32).check(s.regex(/^\d{4}-\d\d-\d\d$/, 'must be a date such as 2026-04-28')),
  input: usd,
  output: usd,
  /** Of the input, what came from a cache; as the rest unless given. */
  cachedInput: s.optional(usd),
})

/** Dollars that a key may spend on models. */
const modelBudget = s.strictObject({
  /** Id of a key; `*` for each of all others. */
  key: text(128),
  usdPerDay: s.optional(usd),
  usdPerMonth: s.optional(usd),
})

const publicIp = s.strictObject({
  /** A region. */
  name: text(63),
  description: s.optional(text(256)),
  ipv4Cidrs: s.optional(s.array(s.string())),
  ipv6Cidrs: s.optional(s.array(s.string())),
})

/** By the name of the file. */
export const entryShapes = {
  'sandbox-hub': sandbox,
  'mcp-hub': mcpServer,
  templates: template,
  integrations: integration,
  features: feature,
  changelog: change,
  regions: place,
  'public-ips': publicIp,
  'model-prices': modelPrice,
  'model-budgets': modelBudget,
} as const

export type CatalogueName = keyof typeof entryShapes
