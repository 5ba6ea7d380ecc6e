/** The management API behind a socket, for MCP clients. */
import type { Test } from 'tap'
import { listen } from '../../shared/http/listen.ts'
import { serve } from '../../shared/http/server.ts'
import { silentLog } from '../../shared/log.ts'
import { control, type TestControl } from './control.ts'
import { mcpClients, type McpClient } from './mcp-clients.ts'

export interface ServedApi extends TestControl {
  /** Base address of the management API. */
  readonly url: string
  /** One of `mcpClients` by its name, with this key. */
  readonly connect: (client: string, key: string) => Promise<McpClient>
}

export const served = async (t: Test): Promise<ServedApi> => {
  const made = await control(t)
  const { port, close } = await listen(serve(made.api, { log: silentLog }), { port: 0, host: '127.0.0.1' })
  t.teardown(() => close(0))
  const url = `http://127.0.0.1:${port}/v0`
  const connect = (client: string, key: string): Promise<McpClient> => {
    const known = mcpClients[client]
    if (!known) throw new Error(`no client ${client}`)
    return known.connect(t, url, { authorization: `Bearer ${key}` })
  }
  return { ...made, url, connect }
}
