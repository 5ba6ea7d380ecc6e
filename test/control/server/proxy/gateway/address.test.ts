import t from 'tap'
import * as address from '../../../../../control/server/proxy/gateway/address.ts'

const forms = [
  { kind: 'sandbox', plural: 'sandboxes', label: 'sbx', scope: 'sandboxes:control' },
  { kind: 'agent', plural: 'agents', label: 'agt', scope: 'agents:get' },
]
const byHost = (host: string, target: string, regions: readonly string[]) =>
  address.byHost(host, target, { forms, regions })
const byPath = (target: string) => address.byPath(target, forms)

t.test('a sandbox host is read in every way its hyphens allow', async t => {
  t.same(byHost('sbx-web-default.local:8080', '/health', ['local']), {
    kind: 'sandbox',
    form: 'host',
    readings: [{ name: 'web', workspace: 'default' }],
    port: undefined,
    target: '/health',
    base: '',
  })
  t.match(byHost('sbx-web-default.local', '/port/3000/x', ['local']), { port: 3000, target: '/x', base: '/port/3000' })
  t.same(byHost('SBX-a-b-c.us-pdx-1.example.org', '/', ['us-pdx-1'])?.readings, [
    { name: 'a', workspace: 'b-c' },
    { name: 'a-b', workspace: 'c' },
  ])
})

t.test('a host of another region, or of another kind, is not ours', async t => {
  t.equal(byHost('sbx-web-default.mars', '/', ['local']), undefined)
  t.equal(byHost('web.local', '/', ['local']), undefined)
  t.equal(byHost('pod-web-default.local', '/', ['local']), undefined)
  t.match(byHost('agt-web-default.local', '/', ['local']), { kind: 'agent' })
  t.match(byPath('/default/agents/web'), { kind: 'agent', base: '/default/agents/web' })
  t.equal(byPath('/default/pods/web'), undefined)
  t.equal(byHost('', '/', ['local']), undefined)
})

t.test('the path form keeps what follows as it was sent', async t => {
  t.match(byPath('/default/sandboxes/web'), { target: '/' })
  t.match(byPath('/default/sandboxes/web?x=1'), { target: '/?x=1' })
  t.match(byPath('/default/sandboxes/web/filesystem/%2Ftmp%2Fa?download=true'), {
    readings: [{ name: 'web', workspace: 'default' }],
    target: '/filesystem/%2Ftmp%2Fa?download=true',
    base: '/default/sandboxes/web',
  })
  t.match(byPath('/default/sandboxes/web/port/3000/x'), { target: '/x', base: '/default/sandboxes/web/port/3000' })
  t.match(byPath('/default/sandboxes/web/filesystem//tmp'), { target: '/filesystem//tmp' })
  t.match(byPath('/default/sandboxes/web//filesystem//tmp'), { target: '/filesystem//tmp' }, 'but one slash begins it')
  t.match(byHost('sbx-web-default.local', '//filesystem//tmp', ['local']), { target: '/filesystem//tmp' })
  t.match(byPath('/default/sandboxes/web/port/3000//x'), { port: 3000, target: '//x' }, 'an application gets its own')
  for (const no of [
    '/v0/sandboxes',
    '/v0/sandboxes/web',
    '/default/sandboxes',
    '/default/pods/web',
    '/Default/sandboxes/web',
    '/',
  ])
    t.equal(byPath(no), undefined, no)
})

t.test('a port of the sandbox: everything after the number is forwarded as it is', async t => {
  t.match(byPath('/default/sandboxes/web/port/3000/a%20b?c=d'), { port: 3000, target: '/a%20b?c=d' })
  t.match(byPath('/default/sandboxes/web/port/3000'), { port: 3000, target: '/' })
  t.match(byPath('/default/sandboxes/web/port/3000?x=1'), { port: 3000, target: '/?x=1' })
  t.match(byHost('sbx-web-default.local', '/port/8888/execute', ['local']), { port: 8888, target: '/execute' })
  t.match(byPath('/default/sandboxes/web/portal'), { port: undefined, target: '/portal' })
  for (const no of ['/port/0/', '/port/65536/', '/port/99999/x'])
    t.equal(byPath(`/default/sandboxes/web${no}`), undefined, no)
})
