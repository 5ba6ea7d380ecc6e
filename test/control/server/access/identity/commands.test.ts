/** `hutch account` and `hutch person`, on the data directory of a server that runs. */
import t from 'tap'
import { runCommand } from '../../../../support/command.ts'
import { ada, browser, hostWithAdmin, tokensOf } from '../../../../support/sign-in.ts'

t.setTimeout(240_000)

t.test('an operator makes accounts, sets passwords anew and takes people out', async t => {
  const made = await hostWithAdmin(t)
  const { url, config, as, host } = made
  const hutch = (...words: string[]) => runCommand(words, { HUTCH_DATA_DIR: config.dataDir, HUTCH_PUBLIC_URL: url })
  const account = await hutch('account', 'create', 'acme', '--workspace', 'acme-dev')
  t.match(account, { code: 0, out: /^http:\S+\/v0\/oauth\/join\?token=\S+\n$/ })
  const eve = { email: 'eve@acme.test', name: 'Eve', password: 'the password of eve' }
  t.equal((await browser(url).open(account.out.trim(), eve)).status, 200)
  const hers = (await tokensOf(made, eve)).access_token
  t.equal(await as(hers, '/sandboxes'), 200)
  t.equal(await as(hers, '/sandboxes?workspace=default'), 403, 'another account is another world')
  t.match(await hutch('account', 'create', 'acme'), { code: 1, error: /already exists/ })
  t.match((await hutch('account', 'list')).out, /acme +acme +acme-dev/)
  t.match((await hutch('person', 'list')).out, /eve@acme\.test +Eve +acme +yes/)

  const head = (await hutch('audit', 'head')).out.trim()
  t.match(await hutch('audit', 'verify', `--head=${head}`), { code: 0, out: /^\d+ rows, as they were written/ })
  const other = `${head.split(':')[0]}:${'0'.repeat(64)}`
  t.match(await hutch('audit', 'verify', `--head=${other}`), { code: 1, out: /^row \d+: / })

  const login = (await tokensOf(made, ada)).access_token
  const link = (await hutch('person', 'link', ada.email)).out.trim()
  const page = await browser(url).open(link)
  t.match(page.text, 'A new password')
  const { password } = { password: 'another one of ada' }
  t.equal((await browser(url).open(link, { password })).status, 200)
  t.equal((await browser(url).open(link, { password })).status, 404, 'once')
  t.equal(await as(login, '/sandboxes'), 401, 'logins of before are over')
  t.equal(await as((await tokensOf(made, { ...ada, password })).access_token, '/sandboxes'), 200)

  t.equal((await hutch('person', 'member', eve.email)).code, 0)
  t.equal(await as(hers, '/sandboxes'), 401)
  t.equal((await hutch('person', 'admin', eve.email)).code, 0)
  const again = (await tokensOf(made, eve)).access_token
  t.match(await hutch('person', 'unbind', eve.email), { code: 0, out: /bound to nobody/ })
  t.equal(await as(again, '/sandboxes'), 401)
  const last = (await tokensOf(made, eve)).access_token
  t.equal((await hutch('person', 'remove', eve.email)).code, 0)
  t.equal(await as(last, '/sandboxes'), 401)
  t.equal(await host.store.identity.person('email', eve.email), undefined)
  const rows = [...(await host.store.audit.list({ account: 'acme', limit: 100 })).records].toReversed()
  t.same(
    rows.filter(({ actor }) => actor === 'operator' || actor === eve.email).map(one => `${one.action} ${one.kind}`),
    [
      'create account',
      'admin link account',
      'create person',
      'sign-in person',
      'allow person',
      'update person',
      'update person',
      'sign-in person',
      'allow person',
      'unbind person',
      'sign-in person',
      'allow person',
      'delete person',
    ],
    'all of it is written down',
  )
  const adas = [...(await host.store.audit.list({ account: 'default', limit: 100, kind: 'person' })).records]
  t.same(
    adas.toReversed().map(({ action }) => action),
    ['create', 'sign-in', 'allow', 'password link', 'set password', 'sign-in', 'allow'],
  )
  t.notMatch(JSON.stringify([rows, adas]), /another one of ada|the password of eve/)
  for (const wrong of [['person'], ['person', 'link'], ['person', 'link', 'x@y.z'], ['account', 'create', 'A B']])
    t.not((await hutch(...wrong)).code, 0, wrong.join(' '))
})
