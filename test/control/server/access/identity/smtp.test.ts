/** Mail servers that are not on this machine: nothing is said to one that does not prove itself, the password least of all. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import { smtpSend, type SmtpConfig } from '../../../../../control/server/access/identity/mail/smtp.ts'
import { testAuthority } from '../../../../support/certificates.ts'

/** Is reached on this machine, and counts as any other. */
const elsewhere = '0.0.0.0'

const mail = { id: 'm1', to: 'bob@example.com', subject: 'Come in', text: 'https://hutch.example/x' }

const opened = async (t: Test) => {
  const dir = t.testdir()
  const authority = testAuthority(dir)
  const good = authority.sign(join(dir, 'good'), [elsewhere, 'localhost'])
  const other = authority.sign(join(dir, 'other'), ['mail.example.com'])
  const pem = ({ cert, key }: typeof good) => ({ cert: readFileSync(cert), key: readFileSync(key) })
  const serve = async (options: SMTPServerOptions) => {
    const seen: string[] = []
    const server = new SMTPServer({
      allowInsecureAuth: true,
      onAuth({ username, password }, { secure }, done) {
        seen.push(`${username} ${password}${secure ? '' : ' in plain'}`)
        done(null, { user: username ?? '' })
      },
      onData(stream, { secure }, done) {
        stream.on('end', () => {
          seen.push(`a mail${secure ? '' : ' in plain'}`)
          done()
        })
        stream.resume()
      },
      ...options,
    })
    server.on('error', () => {})
    server.listen(0, '127.0.0.1')
    await once(server.server, 'listening')
    t.teardown(() => new Promise<void>(done => void server.close(() => done())))
    const { port } = server.server.address() as AddressInfo
    const send = (given: Partial<SmtpConfig> = {}) =>
      smtpSend({
        host: elsewhere,
        port,
        secure: false,
        user: 'hutch',
        password: 'hush',
        from: 'Hutch <hutch@example.com>',
        ...given,
      })(mail)
    return { send, seen }
  }
  return { ca: authority.ca, good: pem(good), other: pem(other), serve }
}

t.test('over TLS to a server that proves itself, or not at all', async t => {
  const { ca, good, other, serve } = await opened(t)
  const [withTls, plain, wrong, secure] = [
    await serve({ ...good, hidePIPELINING: true }),
    await serve({ disabledCommands: ['STARTTLS'] }),
    await serve(other),
    await serve({ ...good, secure: true }),
  ]
  await t.rejects(withTls.send(), /certificate/, 'an authority that nobody has named')
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, ca])
  t.teardown(() => setDefaultCACertificates(before))
  await t.rejects(plain.send(), /STARTTLS/, 'a server, or somebody in between, that takes nothing but plain text')
  await t.rejects(wrong.send(), /altnames|IP/, 'the certificate of another host')
  await t.rejects(plain.send({ secure: true }), 'TLS from the first byte where there is none')
  for (const { seen } of [withTls, plain, wrong]) t.same(seen, [], 'nothing was said')
  await withTls.send()
  t.same(withTls.seen, ['hutch hush', 'a mail'])
  await secure.send({ secure: true })
  t.same(secure.seen, ['hutch hush', 'a mail'])
})

t.test('to a server on the same machine as it takes it, whoever signed its certificate', async t => {
  const { good, serve } = await opened(t)
  const [plain, withTls, secure] = [
    await serve({ disabledCommands: ['STARTTLS'] }),
    await serve(good),
    await serve({ ...good, secure: true }),
  ]
  for (const host of ['127.0.0.1', 'localhost']) {
    await plain.send({ host })
    await withTls.send({ host })
  }
  t.same(plain.seen, ['hutch hush in plain', 'a mail in plain', 'hutch hush in plain', 'a mail in plain'])
  t.same(withTls.seen, ['hutch hush', 'a mail', 'hutch hush', 'a mail'])
  await t.rejects(
    secure.send({ host: '127.0.0.1', secure: true }),
    /certificate/,
    'smtps: says that it is to be proven',
  )
})
