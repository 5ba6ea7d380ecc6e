/** The proxies to compare with, from Debian: Squid with OpenSSL, and mitmproxy. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { find, freePort, scratch, start, untilListens } from '../child.ts'
import type { Bench } from '../measure.ts'
import { serverName, type Internet } from './server.ts'

export interface Proxy {
  readonly name: string
  readonly port: number
  /** The process that does the work. */
  readonly pid: number
}

const childOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]) || pid

/** `bump` opens TLS, otherwise it is passed on after a look at the hello. */
export const squid = async (bench: Bench, internet: Internet, bump: boolean): Promise<Proxy | undefined> => {
  const binary = find('squid')
  if (!binary) return undefined
  const dir = scratch(bench, 'squid')
  const port = await freePort()
  chmodSync(dir, 0o777)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' })
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=Squid',
    '-addext',
    'basicConstraints=critical,CA:TRUE',
  )
  execFileSync('/usr/lib/squid/security_file_certgen', ['-c', '-s', join(dir, 'certs'), '-M', '4MB'], {
    stdio: 'ignore',
  })
  execFileSync('sh', ['-c', 'chmod -R a+rwX .; chown -R proxy .'], { cwd: dir })
  writeFileSync(join(dir, 'hosts'), `127.0.0.1 ${serverName}\n`)
  writeFileSync(
    join(dir, 'squid.conf'),
    `http_port 127.0.0.1:${port} ssl-bump generate-host-certificates=on dynamic_cert_mem_cache_size=4MB tls-cert=${dir}/ca.pem tls-key=${dir}/ca.key
sslcrtd_program /usr/lib/squid/security_file_certgen -s ${dir}/certs -M 4MB
tls_outgoing_options cafile=${internet.dir}/world.pem
acl first at_step SslBump1
ssl_bump peek first
ssl_bump ${bump ? 'bump' : 'splice'} all
hosts_file ${dir}/hosts
http_access allow all
cache deny all
access_log none
cache_log ${dir}/cache.log
pid_filename ${dir}/pid
coredump_dir ${dir}
memory_pools off
shutdown_lifetime 0 seconds
`,
  )
  const child = start(bench, binary, ['-N', '-f', join(dir, 'squid.conf')], { stdio: 'ignore', signal: 'SIGTERM' })
  await untilListens(child, port)
  return { name: 'squid', port, pid: child.pid as number }
}

export const mitmproxy = async (bench: Bench, internet: Internet, bump: boolean): Promise<Proxy | undefined> => {
  const binary = find('mitmdump')
  if (!binary) return undefined
  const dir = scratch(bench, 'mitm')
  mkdirSync(join(dir, 'conf'))
  const port = await freePort()
  const set = (option: string) => ['--set', option]
  const child = start(
    bench,
    binary,
    [
      '-q',
      '--listen-host',
      '127.0.0.1',
      '-p',
      String(port),
      ...set(`confdir=${dir}/conf`),
      ...set(`ssl_verify_upstream_trusted_ca=${internet.dir}/world.pem`),
      ...set('stream_large_bodies=1'),
      ...set('flow_detail=0'),
      ...(bump ? [] : ['--ignore-hosts', '.*']),
    ],
    { stdio: 'ignore', signal: 'SIGTERM' },
  )
  await untilListens(child, port)
  return { name: 'mitmproxy', port, pid: childOf(child.pid as number) }
}
