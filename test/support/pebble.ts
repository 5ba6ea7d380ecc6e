/** An authority that speaks ACME, Debian's pebble, with a DNS of its own that says this machine for every name. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { testAuthority } from './certificates.ts'
import { freePort } from './keyed.ts'

export interface Pebble {
  readonly directory: string
  /** PEM file of the authority of the directory's own certificate. */
  readonly caFile: string
  /** Where it looks for HTTP-01 and TLS-ALPN-01. */
  readonly httpPort: number
  readonly tlsPort: number
  /** A program that puts TXT records into its DNS. */
  readonly hook: string
}

const listening = async (port: number): Promise<void> => {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const up = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (up) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const run = (t: Test, command: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess => {
  const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, ...env } })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  return child
}

/** `dnsPort`: another name server that it asks, in place of its own. */
export const startPebble = async (t: Test, dir: string, dnsPort?: number): Promise<Pebble> => {
  const [api, management, httpPort, tlsPort, dns, dnsManagement] = await Promise.all(
    Array.from({ length: 6 }, freePort),
  )
  const { cert, key } = testAuthority(dir).sign(join(dir, 'pebble'), ['localhost'])
  const config = join(dir, 'pebble.json')
  const pebble = {
    listenAddress: `127.0.0.1:${api}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: cert,
    privateKey: key,
    httpPort,
    tlsPort,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  }
  writeFileSync(config, JSON.stringify({ pebble }))
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', '']
  run(t, 'pebble-challtestsrv', [
    '-dns01',
    `127.0.0.1:${dns}`,
    '-management',
    `127.0.0.1:${dnsManagement}`,
    '-defaultIPv4',
    '127.0.0.1',
    '-defaultIPv6',
    '',
    ...off,
  ])
  run(t, 'pebble', ['-config', config, '-dnsserver', `127.0.0.1:${dnsPort ?? dns}`], {
    PEBBLE_VA_NOSLEEP: '1',
    PEBBLE_WFE_NONCEREJECT: '0',
  })
  await Promise.all([api, dnsManagement].map(port => listening(port as number)))
  const hook = join(dir, 'hook')
  writeFileSync(
    hook,
    `#!/usr/bin/env node
const [what, host, value] = process.argv.slice(2)
const to = 'http://127.0.0.1:${dnsManagement}/' + (what === 'present' ? 'set-txt' : 'clear-txt')
const answer = await fetch(to, { method: 'POST', body: JSON.stringify({ host: host + '.', value }) })
if (!answer.ok) process.exit(1)
`,
  )
  chmodSync(hook, 0o755)
  return {
    directory: `https://localhost:${api}/dir`,
    caFile: join(dir, 'ca.pem'),
    httpPort: httpPort as number,
    tlsPort: tlsPort as number,
    hook,
  }
}
