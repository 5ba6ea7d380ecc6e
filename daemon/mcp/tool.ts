import { failedResult, type ToolResult } from '../../shared/mcp/methods.ts'
import { isError, messageOf } from '../../shared/errors.ts'
import { parse, problemsOf, type Out, type Shape } from '../../shared/schema.ts'
import type { Context } from '../../shared/route.ts'
import { mostJsonBytes, valueBytes } from '../../shared/json-size.ts'

/** A tool: something that an agent can call. Its arguments are those of the HTTP route, where there is one. */
export interface Tool<I extends Shape = Shape, O extends Shape = Shape> {
  readonly name: string
  readonly description: string
  /** Describes arguments whose names do not say enough. */
  readonly about?: { readonly [A in keyof Out<I>]?: string }
  /** The tool changes nothing, so a client need not ask the user before calling it. */
  readonly readOnly?: true
  /** A strict object: unknown arguments are refused. */
  readonly input: I
  readonly output: O
  run(input: Out<I>, context: Context): Promise<Out<O>> | Out<O>
}

/** Type-checks a tool and then drops its argument types, so that all tools fit into one list. */
export const tool = <I extends Shape, O extends Shape>(declared: Tool<I, O>): Tool => declared as unknown as Tool

/** An answer has the output twice, once as a text in which all of it is quoted again. */
const mostOutput = (): number => Math.floor(mostJsonBytes() / 2)

/** Runs the tool. Wrong arguments and failures are results that say so, because agents read results and not errors. */
export const callTool = async (called: Tool, args: unknown, context: Context): Promise<ToolResult> => {
  try {
    const given = args ?? {}
    const problems = problemsOf(called.input, given)
    if (problems.length > 0)
      return failedResult(problems.map(({ field, reason }) => (field ? `${field}: ${reason}` : reason)).join('\n'))
    const output = (await called.run(parse(called.input, given, 'body') as never, context)) as Record<string, unknown>
    if (valueBytes(output, mostOutput()) > mostOutput())
      return failedResult('the answer would be too large for JSON; ask for less, or download it')
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  } catch (error) {
    // The caller is gone; nobody reads a result.
    if (context.signal.aborted) throw error
    if (!isError(error)) context.log.error('mcp.tool.failed', { tool: called.name, error })
    return failedResult(messageOf(error) || `${called.name} failed`)
  }
}
