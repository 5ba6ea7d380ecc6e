/** A host that speaks TLS, as its configuration has it and as its clients see it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, type Config } from '../../control/base/config.ts'
import { testAuthority, type TestAuthority } from './certificates.ts'
import type { Place } from './raw.ts'
import { repository } from './whole-host.ts'

export interface TlsPlace {
  readonly config: Config['tls']
  /** The place of a port. */
  at(port: number): Place
}

let made: { dir: string; authority: TestAuthority } | undefined

/** One certificate for all of a process: to make one takes longer than what is tested with it. */
export const tlsPlace = (): TlsPlace => {
  if (!made) {
    const dir = mkdtempSync(join(tmpdir(), 'hutch-tls-'))
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
    made = { dir, authority: testAuthority(dir) }
    made.authority.sign(join(dir, 'localhost'), ['localhost'])
  }
  const stem = join(made.dir, 'localhost')
  const ca = readFileSync(join(made.dir, 'ca.pem'), 'utf8')
  return {
    config: { ...loadConfig({}, repository).tls, cert: `${stem}.crt`, key: `${stem}.key` },
    at: port => ({ port, ca }),
  }
}
