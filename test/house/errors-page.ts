/** Writes docs/errors.md from the error table: `node test/house/errors-page.ts`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errors } from '../../shared/errors.ts'

/** A text with its details shown as `{name}`. */
const template = (text: (details: never) => string): string => {
  const details = new Proxy(
    {},
    { get: (_, key) => (key === 'valid' || key === 'supported' ? [`{${String(key)}}`] : `{${String(key)}}`) },
  )
  return text(details as never)
}

/** The page: one row per error. */
export const errorsPage = (): string => {
  const rows = Object.entries(errors).map(
    ([code, { status, retry, text }]) =>
      `| \`${code}\` | ${status} | ${retry ? 'yes' : 'no'} | ${template(text as never)} |`,
  )
  return [
    '# Errors',
    '',
    'Computed from `shared/errors.ts`. "Retry" says whether the same call may work later.',
    'The management API answers `{"error", "code", "message"}`, a sandbox `{"error"}` (on `/mcp` [JSON-RPC errors](mcp.md#refusals)), the gateway `{"error": {"code", "message", …}}`.',
    '',
    '| code | status | retry | message |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

if (process.argv[1] === fileURLToPath(new URL(import.meta.url)))
  writeFileSync(new URL('../../docs/errors.md', import.meta.url), errorsPage())
