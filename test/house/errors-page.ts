/** Writes docs/errors.md from the error table: `node test/house/errors-page.ts`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errors, type GatewayFace } from '../../shared/errors.ts'

/** A text with its details shown as `{name}`. */
const template = (text: (details: never) => string): string => {
  const details = new Proxy(
    {},
    {
      get: (_, key) =>
        ['valid', 'supported', 'users', 'headers'].includes(String(key)) ? [`{${String(key)}}`] : `{${String(key)}}`,
    },
  )
  return text(details as never)
}

/** The page: one row per error. */
export const errorsPage = (): string => {
  const rows = Object.entries(errors).map(([code, entry]) => {
    const { status, retry, text, gateway } = entry as typeof entry & { gateway?: GatewayFace }
    const said = gateway ? `\`${gateway.code}\` ${gateway.status}` : ''
    return `| \`${code}\` | ${status} | ${retry ? 'yes' : 'no'} | ${template(text as never)} | ${said} |`
  })
  return [
    '# Errors',
    '',
    'Computed from `shared/errors.ts`. "Retry" says whether the same call may work later.',
    'The management API answers `{"error", "code", "message"}`, a sandbox `{"error"}` (on `/mcp` [JSON-RPC errors](mcp.md#refusals)), the gateway `{"error": {"code", "message", …}}` in',
    'the words of the last column, with what to do ([more](gateway.md)); one without such words is `WORKLOAD_UNAVAILABLE` where',
    'trying again may help, `BAD_REQUEST` where it will not, and `INTERNAL` where nobody can say.',
    '',
    '| code | status | retry | message | the gateway says |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

if (process.argv[1] === fileURLToPath(new URL(import.meta.url)))
  writeFileSync(new URL('../../docs/errors.md', import.meta.url), errorsPage())
