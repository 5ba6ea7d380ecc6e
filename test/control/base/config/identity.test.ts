/** Variables of sign-in, mail and proxies in front: what is misspelt, half set or against another is refused, and the variable named. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../../control/base/config.ts'
import { secretIn } from '../../../../control/base/secret-file.ts'

type Variables = Readonly<Record<string, string>>

const load = (env: Variables) => loadConfig(env, '/cwd')

const provider = { HUTCH_OIDC_ISSUER: 'https://id.example.com/', HUTCH_OIDC_CLIENT_ID: 'hutch' }
const server = { HUTCH_SMTP_URL: 'smtp://mail.example.com', HUTCH_SMTP_FROM: 'Hutch <hutch@example.com>' }

t.test('a provider and a mail server as they are to be named', async t => {
  const joining = { HUTCH_OIDC_DOMAINS: 'Example.com', HUTCH_OIDC_JOIN: 'default, team:admin' }
  t.same(load({ ...provider, ...joining, HUTCH_OIDC_SECRET_FILE: 'secret' }).signIn, {
    issuer: 'https://id.example.com/',
    clientId: 'hutch',
    secretFile: '/cwd/secret',
    name: 'id.example.com',
    domains: ['example.com'],
    join: [
      { workspace: 'default', role: 'member' },
      { workspace: 'team', role: 'admin' },
    ],
  })
  for (const issuer of ['http://localhost:9', 'http://127.0.0.1:9', 'http://[::1]:9'])
    t.equal(load({ ...provider, HUTCH_OIDC_ISSUER: issuer }).signIn.issuer, issuer)
  t.match(load(server).mail, { host: 'mail.example.com', port: 587, secure: false, user: '', passwordFile: '' })
  const more = { HUTCH_SMTP_URL: 'smtps://me%40example.com@[::1]:4650/', HUTCH_SMTP_PASSWORD_FILE: '/p' }
  t.match(load({ ...server, ...more }).mail, { host: '::1', port: 4650, secure: true, user: 'me@example.com' })
  t.equal(load({ ...server, HUTCH_SMTP_URL: 'smtps://mail.example.com' }).mail.port, 465)
  const proxies = { HUTCH_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, fd00::/8' }
  t.same(load(proxies).trustedProxies, ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
})

/** The variable that is named, and each of what is wrong with it, beside what else there is. */
const wrong: readonly (readonly [string, Variables, readonly string[]])[] = [
  [
    'HUTCH_OIDC_ISSUER',
    provider,
    ['id.example.com', 'http://id.example.com', 'ftp://x', 'https://u:p@x', 'https://x?a'],
  ],
  ['HUTCH_OIDC_CLIENT_ID', provider, ['']],
  ['HUTCH_OIDC_DOMAINS', provider, ['a_b.com', 'https://x', '10.0.0.1', 'a.example,', '*.example.com']],
  ['HUTCH_OIDC_DOMAINS', { ...provider, HUTCH_OIDC_JOIN: 'default' }, ['']],
  [
    'HUTCH_OIDC_JOIN',
    { ...provider, HUTCH_OIDC_DOMAINS: 'example.com' },
    ['Default', 'a:owner', 'a:admin:b', ':admin', 'a,', 'x y'],
  ],
  ...['CLIENT_ID', 'SECRET_FILE', 'NAME', 'DOMAINS', 'JOIN'].map(
    name => [`HUTCH_OIDC_${name}`, {}, ['example.com']] as const,
  ),
  [
    'HUTCH_SMTP_URL',
    server,
    [
      'mail.example.com',
      'http://mail.example.com',
      'smtp://',
      'smtp://u:p@mail.example.com',
      'smtp://mail.example.com/x',
      'smtp://mail.example.com?tls=no',
      'smtp://mail.example.com:99999',
      'smtp://mail.example.com:0',
      'smtp://%zz@mail.example.com',
    ],
  ],
  ['HUTCH_SMTP_URL', { ...server, HUTCH_SMTP_PASSWORD_FILE: '/p' }, ['smtp://mail.example.com']],
  ['HUTCH_SMTP_FROM', server, ['', 'Hutch', 'Hutch <hutch>', 'a@b\nBcc: c@d']],
  ['HUTCH_SMTP_FROM', {}, ['hutch@example.com']],
  ['HUTCH_SMTP_PASSWORD_FILE', {}, ['/p']],
  ['HUTCH_SMTP_PASSWORD_FILE', { ...server, HUTCH_SMTP_URL: 'smtp://me@mail.example.com' }, ['']],
  [
    'HUTCH_TRUSTED_PROXIES',
    {},
    ['proxy', '10.0.0.0/33', 'fd00::/129', '10.0.0.1/', '10.0.0.1/8/8', '1.2.3', '10.0.0.1,'],
  ],
  ['HUTCH_CLIENT_HOSTS', {}, ['https://x', 'a b', 'a,', '1.2.3']],
]

t.test('each variable misspelt, half set, or without what it needs', async t => {
  for (const [name, beside, values] of wrong)
    for (const value of values)
      t.throws(
        () => load({ ...beside, [name]: value }),
        { code: 'invalid_argument', message: `${name}: ` },
        `${name}=${value} beside ${Object.keys(beside).join(' ')}`,
      )
  for (const name of ['HUTCH_OIDC_ISUER', 'HUTCH_SMTP_URI', 'HUTCH_TRUSTED_PROXY'])
    t.throws(() => load({ [name]: 'x' }), { message: new RegExp(`^${name}: .*did you mean HUTCH_`) })
})

t.test('a file of a secret that is not there, or has nothing in it, is refused with its variable', async t => {
  const file = join(t.testdir(), 'secret')
  for (const name of ['HUTCH_OIDC_SECRET_FILE', 'HUTCH_SMTP_PASSWORD_FILE']) {
    await t.rejects(secretIn(`${file}-none`, name), { message: new RegExp(`^${name}: .*cannot be read \\(ENOENT\\)`) })
    writeFileSync(file, ' \n')
    await t.rejects(secretIn(file, name), { message: new RegExp(`^${name}: .* is empty`) })
    writeFileSync(file, 'hush\n')
    t.equal(await secretIn(file, name), 'hush')
  }
})
