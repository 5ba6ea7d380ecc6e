import t from 'tap'
import { directivesIn, parseTemplate, withLoopback } from '../../../daemon/egress/template.ts'

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

t.test('the token is the password or the user', async t => {
  const password = parseTemplate('http://user:{{file(/run/token)}}@proxy:3128')
  t.match(password, { secure: false, host: 'proxy', port: 3128, tokenPath: '/run/token' })
  t.equal(password?.credential('abc'), basic('user:abc'))
  t.equal(password?.resolved('a/b'), 'http://user:a%2Fb@proxy:3128')
  const user = parseTemplate('https://{{file(/run/token)}}@proxy')
  t.match(user, { secure: true, host: 'proxy', port: 443 })
  t.equal(user?.credential('abc'), basic('abc:'))
  t.match(parseTemplate('http://us%40er:{{file(/t)}}@[::1]'), { host: '::1', port: 80 })
  t.equal(parseTemplate('http://us%40er:{{file(/t)}}@[::1]')?.credential('x'), basic('us@er:x'))
})

t.test('other values are left alone', async t => {
  for (const value of [
    'http://proxy:3128',
    'http://u:{{file(/a)}}{{file(/b)}}@proxy',
    'http://{{file(/a)}}:{{file(/b)}}@proxy',
    'http://{{file(/a)}}/',
    'socks5://u:{{file(/a)}}@proxy',
    '{{file(/a)}}',
    'http://u:{{file()}}@proxy',
  ])
    t.equal(parseTemplate(value), undefined, value)
  t.equal(directivesIn('http://proxy'), 0)
  t.equal(directivesIn('{{file(/a)}}{{file(/b)}}'), 2)
})

t.test('loopback needs no proxy; what was listed stays, in its order', async t => {
  t.equal(withLoopback(undefined), 'localhost,127.0.0.1,::1')
  t.equal(withLoopback('.internal, 127.0.0.1,x'), '.internal,127.0.0.1,x,localhost,::1')
  t.equal(withLoopback('::1,localhost,127.0.0.1'), '::1,localhost,127.0.0.1')
})
