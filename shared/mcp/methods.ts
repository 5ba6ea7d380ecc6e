/** What a server offers to the protocol: the methods that all revisions share, and what it is called. */
import type { Context } from '../route.ts'
import { codes, isObject, type Outcome } from './rpc.ts'

/** What a server says about itself, in every revision. */
export interface ServerInfo {
  readonly name: string
  readonly version: string
}

export interface Methods {
  /** `tools/list`: at once all that the caller may call, by name. */
  readonly list: (params: unknown, context: Context) => Outcome
  /** `tools/call`. A failure within a tool is a result that says so. */
  readonly call: (params: unknown, context: Context) => Promise<Outcome>
}

export interface ToolResult {
  readonly content: { type: 'text'; text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
}

export const failedResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true })

interface Listed {
  readonly name: string
}

/** What a server does with its tools. */
export interface Offer<T extends Listed> {
  readonly tools: readonly T[]
  /** The tool as `tools/list` shows it. */
  readonly describe: (tool: T) => object
  /** A tool that does not answer the caller is none for them. */
  readonly isFor: (tool: T, context: Context) => boolean
  /** Runs it; never rejects but for a caller that is gone. */
  readonly run: (tool: T, args: Readonly<Record<string, unknown>> | undefined, context: Context) => Promise<ToolResult>
}

const invalid = (message: string): Outcome => ({ error: { code: codes.invalidParams, message } })

export const methodsOf = <T extends Listed>({ tools, describe, isFor, run }: Offer<T>): Methods => {
  const byName = new Map(tools.map(tool => [tool.name, tool]))
  const listed = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1)).map(tool => ({ tool, shown: describe(tool) }))
  return {
    list(params, context) {
      const cursor = isObject(params) ? params['cursor'] : undefined
      return cursor
        ? invalid('params.cursor: there is one page only')
        : { result: { tools: listed.filter(({ tool }) => isFor(tool, context)).map(({ shown }) => shown) } }
    },
    async call(params, context) {
      const { name, arguments: given } = isObject(params) ? params : {}
      if (typeof name !== 'string') return invalid('params.name must be a string')
      if (given !== undefined && !isObject(given)) return invalid('params.arguments must be an object')
      const called = byName.get(name)
      if (!called || !isFor(called, context)) return invalid(`unknown tool "${name}"`)
      return { result: { ...(await run(called, given, context)) } }
    },
  }
}
