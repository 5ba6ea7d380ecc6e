/** The methods that all revisions share: listing tools and calling them. */
import type { Context } from '../../shared/route.ts'
import { mayCall } from '../channel/audience.ts'
import type { Caller } from '../channel/connections.ts'
import { describeTool } from './describe.ts'
import { codes, isObject, type Outcome } from './rpc.ts'
import { callTool, type Tool } from './tool.ts'

export interface Methods {
  /** `tools/list`: at once all that the caller may call, by name. */
  readonly list: (params: unknown, context: Context) => Outcome
  /** `tools/call`. A failure within a tool is a result that says so. */
  readonly call: (params: unknown, context: Context) => Promise<Outcome>
}

const invalid = (message: string): Outcome => ({ error: { code: codes.invalidParams, message } })

/** A tool that does not answer the caller is none for them. */
const isFor = (name: string, { facts }: Context): boolean => mayCall(`mcp:${name}`, facts['caller'] as Caller)

export const methodsOf = (tools: readonly Tool[]): Methods => {
  const byName = new Map(tools.map(tool => [tool.name, tool]))
  const listed = tools.map(describeTool).sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    list(params, context) {
      const cursor = isObject(params) ? params['cursor'] : undefined
      return cursor
        ? invalid('params.cursor: there is one page only')
        : { result: { tools: listed.filter(({ name }) => isFor(name, context)) } }
    },
    async call(params, context) {
      const { name, arguments: given } = isObject(params) ? params : {}
      if (typeof name !== 'string') return invalid('params.name must be a string')
      if (given !== undefined && !isObject(given)) return invalid('params.arguments must be an object')
      const called = byName.get(name)
      if (!called || !isFor(name, context)) return invalid(`unknown tool "${name}"`)
      return { result: { ...(await callTool(called, given, context)) } }
    },
  }
}
