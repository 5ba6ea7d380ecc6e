/** The daemon's tools as the protocol is offered them. */
import { methodsOf, type Methods } from '../../shared/mcp/methods.ts'
import { mayCall } from '../channel/audience.ts'
import type { Caller } from '../channel/connections.ts'
import { describeTool } from './describe.ts'
import { callTool, type Tool } from './tool.ts'

export const toolMethods = (tools: readonly Tool[]): Methods =>
  methodsOf({
    tools,
    describe: describeTool,
    isFor: ({ name }, { facts }) => mayCall(`mcp:${name}`, facts['caller'] as Caller),
    run: callTool,
  })
