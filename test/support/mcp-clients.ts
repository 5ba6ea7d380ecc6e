/** The official MCP clients, each in every protocol revision it can be brought to speak. */
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Test } from 'tap'

export interface ToolResult {
  readonly isError?: boolean
  readonly content: { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
}

export interface ToolInfo {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: object
  readonly outputSchema?: object | undefined
}

export interface McpClient {
  /** The revision agreed on. */
  readonly revision: string
  readonly server: unknown
  readonly capabilities: unknown
  tools(): Promise<ToolInfo[]>
  /** Rejects for what the protocol calls an error: an unknown tool. */
  call(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>
  close(): Promise<void>
}

export type Connect = (t: Test, url: string, headers?: Record<string, string>) => Promise<McpClient>

/** A client always begins with the newest revision it knows; this one is told to begin with another. */
const beginningWith =
  (version: string): typeof fetch =>
  (url, init) => {
    const body = typeof init?.body === 'string' ? init.body : undefined
    if (!body?.includes('"initialize"')) return fetch(url, init)
    const message = JSON.parse(body)
    message.params.protocolVersion = version
    return fetch(url, { ...init, body: JSON.stringify(message) })
  }

const first =
  (version: string): Connect =>
  async (t, url, headers = {}) => {
    const client = new Client({ name: 'test', version: '1' })
    t.teardown(() => client.close())
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      fetch: beginningWith(version),
      requestInit: { headers },
    })
    // The SDK's declared transport type is stricter than what connect takes.
    await client.connect(transport as Parameters<Client['connect']>[0])
    return {
      revision: transport.protocolVersion ?? '',
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      tools: async () => (await client.listTools()).tools,
      call: async (name, args = {}, signal) =>
        (await client.callTool({ name, arguments: args }, undefined, signal && { signal })) as unknown as ToolResult,
      close: () => client.close(),
    }
  }

const second =
  (mode: VersionNegotiationMode): Connect =>
  async (t, url, headers = {}) => {
    const client = new Client2({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    t.teardown(() => client.close())
    await client.connect(new Transport2(new URL(`${url}/mcp`), { requestInit: { headers } }))
    return {
      revision: client.getNegotiatedProtocolVersion() ?? '',
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      tools: async () => (await client.listTools()).tools as ToolInfo[],
      call: async (name, args = {}, signal) =>
        (await client.callTool({ name, arguments: args }, signal && { signal })) as unknown as ToolResult,
      close: () => client.close(),
    }
  }

/** Each with the revision that it comes to speak with us. */
export const mcpClients: Readonly<Record<string, { readonly revision: string; readonly connect: Connect }>> = {
  'client 1.x, 2024-11-05': { revision: '2024-11-05', connect: first('2024-11-05') },
  'client 1.x, 2025-03-26': { revision: '2025-03-26', connect: first('2025-03-26') },
  'client 1.x, 2025-06-18': { revision: '2025-06-18', connect: first('2025-06-18') },
  'client 1.x, 2025-11-25': { revision: '2025-11-25', connect: first('2025-11-25') },
  'client 2.x as of old': { revision: '2025-11-25', connect: second('legacy') },
  'client 2.x, finding out': { revision: '2026-07-28', connect: second('auto') },
  'client 2.x, 2026-07-28': { revision: '2026-07-28', connect: second({ pin: '2026-07-28' }) },
}
