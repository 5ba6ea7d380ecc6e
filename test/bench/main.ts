/** Runs the benchmarks one after the other: `node test/bench/main.ts [--only NAME] [--json]`. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = fileURLToPath(new URL('.', import.meta.url))
/** What the benchmarks share. */
const shared = ['main', 'report', 'daemon']
const { values } = parseArgs({ options: { only: { type: 'string' }, json: { type: 'boolean', default: false } } })
const names = readdirSync(here)
  .filter(file => file.endsWith('.ts'))
  .map(file => file.slice(0, -'.ts'.length))
  .filter(name => !shared.includes(name))
const wanted = values.only === undefined ? names : names.filter(name => name === values.only)
if (wanted.length === 0) {
  console.error(`bench: no benchmark is called "${values.only}"; there are ${names.join(', ')}`)
  process.exit(1)
}
const failed = wanted.filter(name => {
  const args = [`${here}${name}.ts`, ...(values.json ? ['--json'] : [])]
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status !== 0
})
if (failed.length > 0) console.error(`bench: failed: ${failed.join(', ')}`)
process.exit(failed.length > 0 ? 1 : 0)
