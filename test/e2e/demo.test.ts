/** `make demo` tells its whole story on this machine and leaves nothing behind. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'

const main = fileURLToPath(new URL('../../control/cli/demo/main.ts', import.meta.url))
const lines: readonly RegExp[] = [
  /^hutch demo: the host serves on http:\/\/127\.0\.0\.1:\d+$/,
  /1\. sandbox "demo" from image base, 1 GB: DEPLOYING$/,
  /2\. first command answered \d+ ms after the create was sent: Debian GNU\/Linux .+, Python 3\.\S+, node v\d+/,
  /3\. a file written into it: \/root\/app\.py, \d{3} bytes$/,
  /4\. it runs, and its output streams back:$/,
  /step 1 on demo$/,
  /step 2 on demo$/,
  /step 3 on demo$/,
  /5\. port 3000 answers through the gateway: import http\.server, os, time$/,
  /6\. nobody called for a second: STANDBY/,
  /7\. the next request wakes it: answered in [\d.]+ ms, the program is running$/,
  /8\. deleted: nothing of it is left on this machine but its bill:$/,
  /sandbox_compute_runtime_gbs: [\d.]+ GB-seconds, 0\.0000\d+ USD$/,
  /sandbox_snapshot_storage_gbs: [\d.]+ GB-seconds, 0\.0000\d+ USD$/,
  /total 0\.0000\d+ USD$/,
]

const directories = () => readdirSync(tmpdir()).filter(name => name.startsWith('hutch-demo-'))

const why = whyNoMachines()
t.test('every line is told, and nothing stays', { skip: why ?? false }, async t => {
  const before = directories()
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], { timeout: 120_000 })
  const told = stdout.trimEnd().split('\n')
  t.equal(told.length, lines.length, stdout)
  for (const [index, line] of lines.entries()) t.match(told[index], line)
  t.equal(stderr, '')
  t.same(directories(), before)
})
