/** nginx, as the rival that serves a directory and as the one that proxies. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { readFileSync } from 'node:fs'
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

/** nginx with one worker and `server` as the body of its server block; undefined where it is not installed. */
export const nginx = async (bench: Bench, http: string, server: string): Promise<Nginx | undefined> => {
  const binary = find('nginx')
  if (!binary) return undefined
  const port = await freePort()
  const dir = scratch(bench, 'nginx')
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${dir}/${name};`)
  mkdirSync(join(dir, 'logs'))
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http { access_log off; sendfile on; keepalive_requests 100000000; ${kept.join(' ')}
${http}
server { listen 127.0.0.1:${port}; ${server} } }
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
