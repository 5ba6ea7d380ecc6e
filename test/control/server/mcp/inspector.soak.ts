/** The inspector, which starts slowly: that of every run is the sandbox's. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { served } from '../../../support/management-mcp.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

t.test("the inspector's command line finds the schemas portable and calls a tool", async t => {
  const { url, key } = await served(t)
  const inspect = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        join(root, 'node_modules/.bin/mcp-inspector'),
        '--cli',
        `${url}/mcp`,
        '--transport',
        'http',
        '--header',
        `Authorization: Bearer ${key}`,
        ...args,
      ],
      { timeout: 120_000, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, HOME: t.testdirName } },
    )
    return JSON.parse(stdout)
  }
  const { tools } = await inspect('--strict', '--method', 'tools/list')
  t.ok(tools.length > 100)
  t.match(await inspect('--method', 'tools/call', '--tool-name', 'sandboxes_list', '--tool-arg', 'limit=5'), {
    structuredContent: { meta: { total: 0 } },
  })
})
