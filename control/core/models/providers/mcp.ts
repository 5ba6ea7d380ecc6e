import { bearer } from './compatible.ts'
import { keyForm, type Provider } from './provider.ts'

/** An MCP server over streamable HTTP: everything passes as it is, and nothing of it is counted as tokens. */
export const mcp: Provider = {
  type: 'mcp',
  label: 'An MCP server',
  versions: [],
  version: '',
  headers: bearer,
  endpoints: {},
  form: keyForm([], false),
  verified: 'specification',
}
