/** The management API for MCP clients: streamable HTTP, every operation a tool. */
import type { Texts } from '../../../shared/http/texts.ts'
import { postHandler } from '../../../shared/mcp/http.ts'
import { methodsOf } from '../../../shared/mcp/methods.ts'
import { handle, route, type Bound, type Context } from '../../../shared/route.ts'
import { mcpAnswers, mcpPost, mcpRefusal } from '../../../shared/wire/mcp.ts'
import { accessOf, meetsAccess } from '../../core/access/access.ts'
import type { ApiKey } from '../../core/store/store.ts'
import { runTool, type RunDeps } from './run.ts'
import { describeOperation, toolsOf } from './tools.ts'

const ofApi = { $ref: '#/components/schemas/Error' }

/** What the protocol refuses, and what this API does before it looks at a message. */
const either = (responses: Readonly<Record<string, ReturnType<typeof mcpRefusal>>>) =>
  Object.fromEntries(
    Object.entries(responses).map(([status, { description, content }]) => {
      const { schema } = content['application/json']
      return [status, { description, content: { 'application/json': { schema: { anyOf: [schema, ofApi] } } } }]
    }),
  )

const unauthenticated = { description: 'unauthenticated', content: { 'application/json': { schema: ofApi } } }

export const managementMcp = route('POST /v0/mcp', {
  id: 'mcp.call',
  summary: 'Model Context Protocol over streamable HTTP: the operations of this API as tools',
  family: 'mcp',
  accepts: 'stream',
  bodyLimit: mcpPost.bodyLimit,
  document: {
    ...mcpPost.document,
    responses: {
      ...mcpAnswers,
      ...either({
        400: mcpRefusal('Not JSON, not JSON-RPC, or another version of the protocol or of this API'),
        413: mcpRefusal('More than 4 MiB'),
      }),
      401: unauthenticated,
    },
  },
  // Each call of a tool is checked as the request that it stands for.
  extra: { access: { scope: [], role: 'member' }, tenant: 'none', protocol: 'mcp' },
})

interface McpDeps extends RunDeps {
  /** All routes of the API. */
  readonly bounds: () => readonly Bound[]
  readonly texts: Texts
}

/** Described with the first request: the routes do not change afterwards. */
const answerOf = (deps: McpDeps) =>
  postHandler({
    info: { name: 'Hutch management API', version: deps.version },
    // Here a call from this machine needs a credential as any other.
    opensLoopback: false,
    methods: methodsOf({
      tools: toolsOf(deps.bounds().map(bound => bound.route)),
      describe: tool => describeOperation(tool, deps.texts),
      isFor: ({ route: called }, { facts }) => {
        const access = accessOf(called)
        return access !== undefined && meetsAccess(access, facts['key'] as ApiKey)
      },
      run: (tool, args = {}, context: Context) => runTool(tool, args, context, deps),
    }),
  })

export const mcpRoutes = (deps: McpDeps): Bound[] => {
  let answer: ReturnType<typeof answerOf> | undefined
  return [handle(managementMcp, (_, context) => (answer ??= answerOf(deps))(context))]
}
