/** The pages whose examples are run, each against a sandbox of its own on a host of its own. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server, type Teardowns } from '../support/server.ts'
import { stepsOf } from './page.ts'
import { runSteps } from './shell.ts'

export interface Page {
  readonly name: string
  /** What its sandbox is called, where not like the page. */
  readonly sandbox?: string
  /** Variables of the sandbox. */
  readonly envs?: Readonly<Record<string, string>>
}

export const pages: readonly Page[] = [
  { name: 'filesystem.md' },
  { name: 'multipart.md' },
  { name: 'processes.md' },
  { name: 'terminal.md' },
  { name: 'network.md' },
  { name: 'codegen.md', envs: { RELACE_API_KEY: 'k', RELACE_BASE_URL: 'http://127.0.0.1:9999' } },
  { name: 'drives.md' },
  { name: 'mcp.md' },
  { name: 'system.md', envs: { SVC_METADATA_PATH: '/run/metadata.json' } },
  { name: 'upgrade.md' },
  { name: 'gateway.md', sandbox: 'web' },
  { name: 'first-hour.md' },
]

/** Why the examples cannot be run on this machine, or undefined. */
export const withoutMachines = (): string | undefined => {
  const why = whyNoMachines()
  if (why) return why
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' })
    return undefined
  } catch {
    // The pages speak curl, and nothing else of ours needs it.
    return 'needs curl'
  }
}

const hosts = new WeakMap<Teardowns, Promise<Server>>()

const startHost = async (t: Teardowns): Promise<Server> => {
  const drives = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-docs-drives-')))
  chmodSync(drives, 0o700)
  t.teardown(() => rmSync(drives, { recursive: true, force: true }))
  mkdirSync(join(drives, 'default/data'), { recursive: true })
  // Sandboxes stay awake: no example waits for one to wake.
  return server(t, { HUTCH_DRIVES_DIR: drives, HUTCH_STANDBY_SECONDS: '600' })
}

/** The lines that a reader pastes first, against this server. Throws where a page has none. */
const prologueOf = (text: string, { url, dataDir }: Pick<Server, 'url' | 'dataDir'>): string => {
  const [, lines] = /\nTo paste the examples[^\n]*\n\n```console\n([\s\S]*?)```\n/.exec(text) ?? []
  if (!lines) throw new Error('the page does not say how its examples are pasted')
  return lines.replace('http://127.0.0.1:8080', url).replace('.hutch/admin-key', join(dataDir, 'admin-key'))
}

/** Makes the page's sandbox and runs its examples; answers what each printed. */
export const runPage = async (t: Teardowns, page: Page, text: string): Promise<string[]> => {
  const host = hosts.get(t) ?? startHost(t)
  hosts.set(t, host)
  const { call, url, dataDir } = await host
  const name = page.sandbox ?? page.name.replace('.md', '')
  const envs = Object.entries(page.envs ?? {}).map(([name, value]) => ({ name, value }))
  const made = await call('POST', '/v0/sandboxes', {
    metadata: { name },
    spec: { runtime: { image: 'base', memory: 1024, envs } },
  })
  if (made.status !== 200) throw new Error(`no sandbox for ${page.name}: ${made.text}`)
  try {
    return await runSteps(stepsOf(text), prologueOf(text, { url, dataDir }))
  } finally {
    await call('DELETE', `/v0/sandboxes/${name}`)
  }
}
