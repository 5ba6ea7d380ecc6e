/** nginx as the internet: a short answer and 100 MB, plain and over TLS. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { issueServer } from './world.ts'
import { find, freePort, scratch, start, untilListens } from '../child.ts'
import type { Bench } from '../measure.ts'

export interface Internet {
  readonly http: number
  readonly https: number
  /** PEM of who signed its certificate. */
  readonly ca: string
  readonly dir: string
}

export const bodyBytes = 100 * 1024 * 1024
export const serverName = 'bench.test'

/** Undefined where nginx is not installed. */
export const startInternet = async (bench: Bench): Promise<Internet | undefined> => {
  const binary = find('nginx')
  if (!binary) return undefined
  const dir = scratch(bench, 'egress')
  const { ca, certificate, key } = issueServer(serverName)
  writeFileSync(join(dir, 'cert.pem'), certificate)
  writeFileSync(join(dir, 'key.pem'), key)
  writeFileSync(join(dir, 'world.pem'), ca)
  writeFileSync(join(dir, 'body'), Buffer.alloc(bodyBytes, 'x'))
  const [http, https] = [await freePort(), await freePort()]
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${dir}/${name};`)
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http { access_log off; sendfile on; keepalive_requests 100000000; default_type text/plain; ${kept.join(' ')}
server { listen 127.0.0.1:${http}; listen 127.0.0.1:${https} ssl; ssl_certificate ${dir}/cert.pem; ssl_certificate_key ${dir}/key.pem;
location = /body { alias ${dir}/body; } location / { return 200 "hello world"; } } }
`,
  )
  const child = start(bench, binary, ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'error.log')], {
    stdio: 'ignore',
    signal: 'SIGTERM',
  })
  await untilListens(child, http)
  return { http, https, ca, dir }
}
