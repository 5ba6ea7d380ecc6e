/** Invitations by mail: a real server of SMTP takes them, also after it was away, and whoever has the link has proven the address. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { systemClock } from '../../../../../shared/clock.ts'
import { ada, browser, claimsOf, hostWithAdmin, tokensOf } from '../../../../support/sign-in.ts'
import { until } from '../../../../support/until.ts'

t.setTimeout(240_000)

interface Taken {
  readonly to: string[]
  readonly user: string
  readonly text: string
}

const mailServer = async (t: Test, port = 0) => {
  const taken: Taken[] = []
  const server = new SMTPServer({
    // To a server on this machine nothing is encrypted.
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'mail secret' ? done(null, { user: username ?? '' }) : done(new Error('wrong')),
    onData(stream, { envelope, user }, done) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => void pieces.push(piece))
      stream.on('end', () => {
        taken.push({
          to: envelope.rcptTo.map(({ address }) => address),
          user: String(user),
          // Long lines come in parts.
          text: Buffer.concat(pieces).toString().replaceAll('=\r\n', '').replaceAll('=3D', '='),
        })
        done()
      })
    },
  })
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const close = () => new Promise<void>(done => void server.close(done))
  t.teardown(close)
  return { taken, close, port: (server.server.address() as AddressInfo).port }
}

const opened = async (t: Test, port: number) => {
  const passwordFile = `${t.testdir()}/password`
  writeFileSync(passwordFile, 'mail secret\n')
  const mail = {
    host: '127.0.0.1',
    port,
    secure: false,
    user: 'hutch',
    passwordFile,
    from: 'Hutch <hutch@example.com>',
  }
  return hostWithAdmin(t, { mail })
}

const linkIn = ({ text }: Taken): string => /http:\S+token=\S+/.exec(text)?.[0] ?? ''

t.test('an invitation is mailed, not answered, and proves the address', async t => {
  const server = await mailServer(t)
  const made = await opened(t, server.port)
  const { api, url, host } = made
  const invited = await api('POST', '/users?workspace=default', { email: 'bob@example.com', role: 'member' })
  t.notOk('link' in invited.body, 'who invites cannot accept in their place')
  await until(async () => server.taken.length > 0, 'the mail')
  const [mail] = server.taken as [Taken]
  t.match(mail, { to: ['bob@example.com'], user: 'hutch' })
  t.match(mail.text, /^From: Hutch <hutch@example.com>/m)
  t.match(mail.text, /^Subject: You are invited to the workspace default/m)
  const done = await browser(url).open(linkIn(mail), { name: 'Bob', password: 'another long password' })
  t.equal(done.status, 200)
  t.match((await api('GET', '/users?workspace=default')).body, [{ accepted: true, email_verified: true }])
  const given = { email: 'bob@example.com', password: 'another long password' }
  const { id_token: token } = await tokensOf(made, given, { scope: 'openid email' })
  t.match(claimsOf(token), { email: 'bob@example.com', email_verified: true }, 'clients are told so')
  const hers = await tokensOf(made, ada, { scope: 'openid email' })
  t.match(claimsOf(hers.id_token), { email: ada.email, email_verified: false }, 'and that nobody wrote to an admin')
  await until(async () => (await host.store.identity.nextMail()) === undefined, 'it is written down as sent')
  t.equal(server.taken.length, 1, 'and is sent once')
})

t.test('a server that is away gets it when it is back', async t => {
  const first = await mailServer(t)
  await first.close()
  const { api, host } = await opened(t, first.port)
  await api('POST', '/users?workspace=default', { email: 'bob@example.com' })
  await until(async () => {
    const next = await host.store.identity.nextMail()
    return next !== undefined && next > systemClock().now()
  }, 'that it is put off')
  const second = await mailServer(t, first.port)
  await until(async () => second.taken.length > 0, 'the mail')
  await until(async () => (await host.store.identity.nextMail()) === undefined, 'it is written down as sent')
})
