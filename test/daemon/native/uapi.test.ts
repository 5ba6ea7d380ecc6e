import '../../support/native.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { controlSocket, forbidMoreFiles } from '../../../daemon/native/uapi/uapi.ts'

t.test('a socket without a name has the one connection it was made with', async t => {
  // Not t.testdir(): the name of a socket has at most 107 bytes.
  const dir = mkdtempSync(join(tmpdir(), 'hutch-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 's')
  const { listening, connected } = controlSocket(path)
  t.notOk(existsSync(path))
  const client = new Socket({ fd: connected, readable: true, writable: true })
  const server = new Server(socket => socket.end('hello'))
  server.listen({ fd: listening })
  t.equal(await text(client), 'hello')
  client.destroy()
  server.close()
  t.throws(() => controlSocket(join(path, 'x'.repeat(200))), { code: 'ENAMETOOLONG' })
  t.throws(() => controlSocket(join(dir, 'missing', 's')), { code: 'ENOENT' })
})

t.test('a process that may open no more files cannot', async t => {
  const child = spawn('/bin/sh', [
    '-c',
    'echo ready; read line; if (exec 9</dev/null) 2>/dev/null; then echo opened; else echo refused; fi',
  ])
  // Sooner, and the shell could not even load its libraries.
  const [ready] = await once(child.stdout, 'data')
  t.equal(String(ready), 'ready\n')
  forbidMoreFiles(child.pid as number)
  child.stdin.end('go\n')
  t.equal((await text(child.stdout)).trim(), 'refused')
  if (child.exitCode === null) await once(child, 'exit')
  t.throws(() => forbidMoreFiles(2 ** 22 + 1), { code: 'ESRCH' })
})
