/** The pages whose examples are run, each against a sandbox of its own on a host of its own. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostileRegistry } from '../support/hostile-registry.ts'
import { chatAnswer, json, modelUpstream, used } from '../support/model-upstream.ts'
import { makeRootfs, whyNoMachines } from '../support/machine.ts'
import { server, type Server, type Teardowns } from '../support/server.ts'
import { stepsOf } from './page.ts'
import { runSteps } from './shell.ts'

export interface Page {
  readonly name: string
  /** What its sandbox is called, where not like the page. */
  readonly sandbox?: string
  /** Variables of the sandbox. */
  readonly envs?: Readonly<Record<string, string>>
  /** Where it needs a server of its own: what is around it. */
  readonly around?: (t: Teardowns) => Promise<Around>
}

interface Around {
  /** Variables of the server. */
  readonly env: Readonly<Record<string, string>>
  /** Words of the page, and what they are called here. */
  readonly called: readonly (readonly [page: string, here: string])[]
}

/** A registry in place of Docker Hub, with a small image under a well-known name. */
const withRegistry = async (t: Teardowns): Promise<Around> => {
  const { host, serve, answers } = await hostileRegistry(t)
  const dir = mkdtempSync(join(tmpdir(), 'hutch-docs-image-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const layer = execFileSync('tar', ['-C', makeRootfs(join(dir, 'rootfs')), '-c', '.'], { maxBuffer: 64 * 1024 * 1024 })
  serve('library/python', [layer])
  const manifest = answers.get('/v2/library/python/manifests/1')
  if (manifest) answers.set('/v2/library/python/manifests/3.12-slim', manifest)
  return {
    env: { HUTCH_REGISTRIES: `http://${host},ghcr.io` },
    called: [
      ['docker.io/', `${host}/`],
      ['docker.io%2F', `${encodeURIComponent(host)}%2F`],
    ],
  }
}

/** A server that speaks OpenAI's protocol, in place of Ollama. */
const withModels = async (t: Teardowns): Promise<Around> => {
  const { origin } = await modelUpstream(t, json(chatAnswer('Hello!', used(9, 2))))
  return { env: { HUTCH_PROVIDERS: origin }, called: [['http://127.0.0.1:11434', origin]] }
}

export const pages: readonly Page[] = [
  { name: 'filesystem.md' },
  { name: 'multipart.md' },
  { name: 'processes.md' },
  { name: 'terminal.md' },
  { name: 'network.md' },
  { name: 'codegen.md', envs: { RELACE_API_KEY: 'k', RELACE_BASE_URL: 'http://127.0.0.1:9999' } },
  { name: 'drives.md' },
  { name: 'volumes.md' },
  { name: 'snapshots.md' },
  { name: 'mcp.md' },
  { name: 'system.md', envs: { SVC_METADATA_PATH: '/run/metadata.json' } },
  { name: 'upgrade.md' },
  { name: 'gateway.md', sandbox: 'web' },
  { name: 'first-hour.md' },
  { name: 'management.md' },
  { name: 'identity.md' },
  { name: 'browser.md', sandbox: 'web' },
  { name: 'outbound.md' },
  { name: 'images.md', around: withRegistry },
  { name: 'models.md', around: withModels },
  { name: 'agents.md', sandbox: 'box' },
  { name: 'schedules.md', sandbox: 'web' },
  { name: 'builds.md' },
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

const startHost = async (t: Teardowns, env: Readonly<Record<string, string>> = {}): Promise<Server> => {
  const drives = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-docs-drives-')))
  chmodSync(drives, 0o700)
  t.teardown(() => rmSync(drives, { recursive: true, force: true }))
  mkdirSync(join(drives, 'default/data'), { recursive: true })
  // Sandboxes stay awake: no example waits for one to wake.
  return server(t, { HUTCH_DRIVES_DIR: drives, HUTCH_STANDBY_SECONDS: '600', ...env })
}

/** The lines that a reader pastes first, against this server. Throws where a page has none. */
const prologueOf = (text: string, { url, dataDir }: Pick<Server, 'url' | 'dataDir'>): string => {
  const [, lines] = /\nTo paste the examples[^\n]*\n\n```console\n([\s\S]*?)```\n/.exec(text) ?? []
  if (!lines) throw new Error('the page does not say how its examples are pasted')
  return lines.replace('http://127.0.0.1:8080', url).replace('.hutch/admin-key', join(dataDir, 'admin-key'))
}

/** Makes the page's sandbox and runs its examples; answers what each printed. */
export const runPage = async (t: Teardowns, page: Page, text: string): Promise<string[]> => {
  const around = await page.around?.(t)
  const host = around ? startHost(t, around.env) : (hosts.get(t) ?? startHost(t))
  if (!around) hosts.set(t, host)
  const { call, url, dataDir, until } = await host
  const name = page.sandbox ?? page.name.replace('.md', '')
  const envs = Object.entries(page.envs ?? {}).map(([name, value]) => ({ name, value }))
  const made = await call('POST', '/v0/sandboxes', {
    metadata: { name },
    spec: { runtime: { image: 'base', memory: 1024, envs } },
  })
  if (made.status !== 200) throw new Error(`no sandbox for ${page.name}: ${made.text}`)
  const called = around?.called ?? []
  const here = (words: string) => called.reduce((said, [page, here]) => said.replaceAll(page, here), words)
  const steps = stepsOf(text).map(step => ({ ...step, script: here(step.script) }))
  try {
    const outputs = await runSteps(steps, prologueOf(text, { url, dataDir }))
    return outputs.map(output => called.reduce((said, [page, here]) => said.replaceAll(here, page), output))
  } finally {
    await call('DELETE', `/v0/sandboxes/${name}`)
    // Another page may call its own the same.
    await until(name, ({ status }) => status === 'TERMINATED')
  }
}
