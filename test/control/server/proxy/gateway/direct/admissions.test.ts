/** Where a key was let in is one place of one workload, however it is addressed. */
import t from 'tap'
import { createAdmissions } from '../../../../../../control/server/proxy/gateway/direct/admissions.ts'

const at = (host: string) => ({ request: { headers: { host } } }) as never
const byHost = (base: string) => ({ form: 'host', base }) as never
const byPath = (base: string) => ({ form: 'path', base }) as never

t.test('another key, another name of a host, another path or port is another place', async t => {
  const admissions = createAdmissions()
  const [named, pathed] = [{ is: 'by name' }, { is: 'by path' }]
  admissions.keep('key', at('sbx-a-w.local'), byHost('/port/80'), named as never)
  admissions.keep('key', at('127.0.0.1'), byPath('/w/sandboxes/a'), pathed as never)
  t.equal(admissions.of('key', at('sbx-a-w.local'), byHost('/port/80')), named)
  t.equal(admissions.of('key', at('localhost'), byPath('/w/sandboxes/a')), pathed)
  t.equal(admissions.of('other', at('sbx-a-w.local'), byHost('/port/80')), undefined)
  t.equal(admissions.of('key', at('sbx-b-w.local'), byHost('/port/80')), undefined)
  t.equal(admissions.of('key', at('sbx-a-w.local'), byHost('')), undefined)
  t.equal(admissions.of('key', at('127.0.0.1'), byPath('/w/sandboxes/b')), undefined)
})

t.test('strangers do not fill the memory', async t => {
  const admissions = createAdmissions()
  const many = Array.from({ length: 1_001 }, (_, index) => byPath(`/w/sandboxes/${index}`))
  for (const address of many) admissions.keep('key', at('h'), address, {} as never)
  t.equal(many.filter(address => admissions.of('key', at('h'), address)).length, 1)
})
