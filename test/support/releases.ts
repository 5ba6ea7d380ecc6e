/**
 * A directory of releases for a daemon outside of a sandbox: each starts this checkout's daemon, after a piece of shell
 * that can make it another. What the host's bundles are, without their hundred megabytes.
 */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { realDaemon, type RealDaemon } from './real-daemon.ts'
import { until } from './processes.ts'

const main = fileURLToPath(new URL('../../daemon/main.ts', import.meta.url))

/** The rehearsal is told by `$HUTCH_REHEARSAL`; what follows `--` is the daemon's. */
const script = (before: string): string => `#!/bin/sh
# The flags of a bundle's own loader.
shift 2
${before}
exec ${process.execPath} ${main} "$@"
`

/** Directory with a release by each name; `current` is the first. */
const releasesIn = (t: Test, releases: Readonly<Record<string, string>>): string => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-releases-')))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  for (const [digest, before] of Object.entries(releases)) {
    mkdirSync(join(dir, digest))
    writeFileSync(join(dir, digest, 'start'), script(before))
    chmodSync(join(dir, digest, 'start'), 0o755)
    const facts = { digest, arch: process.arch, command: ['/.hutch/start'] }
    writeFileSync(join(dir, digest, 'bundle.json'), JSON.stringify(facts))
  }
  symlinkSync(Object.keys(releases)[0] ?? '', join(dir, 'current'))
  return dir
}

// Untyped on purpose: single fields are looked at.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any

/** One request on a connection of its own: none that is kept could be cut by somebody else. */
export const ask = (url: string, method: string, path: string, body?: unknown) =>
  new Promise<{ status: number; body: Body }>((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, agent: false }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', piece => (text += piece))
      response.on('error', reject)
      response.on('end', () => {
        try {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) })
        } catch {
          resolve({ status: response.statusCode ?? 0, body: text })
        }
      })
    })
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })

export interface Upgradable extends RealDaemon {
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }>
  /** Asks for the release and gives `/health` once that attempt has ended. */
  upgrade(version: string): Promise<Body>
}

/** A daemon in its own process that can be given the `releases`. */
export const upgradable = async (
  t: Test,
  releases: Readonly<Record<string, string>> = { one: '', two: '' },
  env: Record<string, string> = {},
): Promise<Upgradable> => {
  const daemon = await realDaemon(t, { HUTCH_RELEASES_DIR: releasesIn(t, releases), ...env })
  const call = (method: string, path: string, body?: unknown) => ask(daemon.url, method, path, body)
  return {
    ...daemon,
    ask: call,
    async upgrade(version) {
      const { status, body } = await call('POST', '/upgrade', { version })
      if (status !== 200) throw new Error(`no upgrade: ${JSON.stringify(body)}`)
      return until(`the upgrade to ${version}`, async () => {
        // One that was asked in the very moment is cut, where a box is slow.
        const answer = await call('GET', '/health').catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ECONNRESET') return undefined
          throw error
        })
        return answer && answer.body.lastUpgrade.status !== 'running' && answer.body
      })
    },
  }
}
