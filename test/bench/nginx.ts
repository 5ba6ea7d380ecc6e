/** nginx, as the rival that serves a directory and as the one that proxies. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { find, freePort, scratch, start, untilListens } from './child.ts'
import type { Bench } from './measure.ts'

export interface Nginx {
  readonly url: string
  readonly port: number
  /** Process id of its one worker. */
  readonly worker: number
}

export const noNginx = 'needs nginx: apt-get install nginx-light'

/** The two parts of a configuration that passes everything on to a port of loopback. */
export const proxyTo = (upstream: number): [http: string, server: string] => [
  `upstream up { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 100000000; }`,
  'location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header connection ""; }',
]

/** nginx with one worker and `server` as the body of its server block, with a certificate behind TLS; undefined where it is not installed. */
export const nginx = async (
  bench: Bench,
  http: string,
  server: string,
  tls?: { readonly cert: string; readonly key: string },
): Promise<Nginx | undefined> => {
  const binary = find('nginx')
  if (!binary) return undefined
  const port = await freePort()
  const dir = scratch(bench, 'nginx')
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${dir}/${name};`)
  const secure = tls ? ` ssl; ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}` : ''
  mkdirSync(join(dir, 'logs'))
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http { access_log off; sendfile on; keepalive_requests 100000000; ${kept.join(' ')}
${http}
server { listen 127.0.0.1:${port}${secure}; ${server} } }
`,
  )
  const child = start(bench, binary, ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log')], {
    stdio: 'ignore',
    signal: 'SIGTERM',
  })
  await untilListens(child, port)
  const worker = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0])
  return { url: `http://127.0.0.1:${port}`, port, worker }
}
