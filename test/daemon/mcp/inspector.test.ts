import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { daemonServer } from '../../support/daemon.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

t.test(
  "the inspector's command line lists tools, finds their schemas portable, and calls them, in every era it knows",
  async t => {
    const { url } = await daemonServer(t)
    const inspect = async (...args: string[]) => {
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath,
        [join(root, 'node_modules/.bin/mcp-inspector'), '--cli', `${url}/mcp`, '--transport', 'http', ...args],
        // Its own files go there.
        { timeout: 120_000, env: { ...process.env, HOME: t.testdirName } },
      )
      t.equal(stderr, '', 'nothing to complain of')
      return JSON.parse(stdout)
    }
    const call = ['--method', 'tools/call', '--tool-name', 'processExecute', '--tool-arg', 'waitForCompletion=true']
    const names = async (era: string): Promise<string[]> =>
      (await inspect('--protocol-era', era, '--strict', '--method', 'tools/list')).tools.map(
        ({ name }: { name: string }) => name,
      )
    const [old, current] = [await names('legacy'), await names('modern')]
    t.equal(old.length, 19)
    t.same(current, old)
    for (const era of ['auto', 'modern'])
      t.match(await inspect('--protocol-era', era, ...call, '--tool-arg', `command=echo ${era}`), {
        structuredContent: { logs: `${era}\n` },
      })
  },
)
