/** What looks like a credential is not in the command lines of events. */
import t from 'tap'
import { maskSaid, readSaid } from '../../../../control/network/egress/events/said.ts'
import { maskCommand } from '../../../../control/network/egress/events/mask.ts'
import { createTenant } from '../../../../control/network/egress/tenant.ts'

const random = 'q7Xf2LmZ9vRk4TbN8cWy'

/** Arguments, and the line that is kept of them. */
const lines: readonly (readonly [readonly string[], string])[] = [
  [
    ['curl', '-H', 'Authorization: Bearer abc.def', 'https://a.example/x'],
    'curl -H Authorization: *** https://a.example/x',
  ],
  [['curl', '-H', 'authorization:Basic dTpw'], 'curl -H authorization:***'],
  [['curl', '-HCookie: a=b; c=d'], 'curl -HCookie: ***'],
  [['curl', '-H', 'X-Api-Key: 12345'], 'curl -H X-Api-Key: ***'],
  [['curl', '-u', 'me:hush', 'x'], 'curl -u me:*** x'],
  [['curl', '--user', 'me:hush'], 'curl --user me:***'],
  [['curl', 'https://me:hush@a.example/'], 'curl https://***@a.example/'],
  [['git', 'clone', 'https://hush@git.example/a.git'], 'git clone https://***@git.example/a.git'],
  [['curl', 'https://a.example/?q=1&access_token=hush&b=2'], 'curl https://a.example/?q=1&access_token=***&b=2'],
  [['x', '--password=hush'], 'x --password=***'],
  [['x', '--password', 'hush', '--name', 'y'], 'x --password *** --name y'],
  [['x', '--client-secret', 'hush'], 'x --client-secret ***'],
  [
    ['env', 'GITHUB_TOKEN=hush', 'AWS_SECRET_ACCESS_KEY=hush', 'HOME=/root'],
    'env GITHUB_TOKEN=*** AWS_SECRET_ACCESS_KEY=*** HOME=/root',
  ],
  [['sh', '-c', 'export DB_PASSWORD="hush"; run'], 'sh -c export DB_PASSWORD="***"; run'],
  [['curl', '-d', '{"api_key": "hush", "n": 1}'], 'curl -d {"api_key": "***", "n": 1}'],
  [['mysql', '-uroot', '-phush', 'db'], 'mysql -uroot -p*** db'],
  [['/usr/bin/sshpass', '-p', 'hush', 'ssh', 'a'], '/usr/bin/sshpass -p *** ssh a'],
  [['ssh', '-p', '2222', 'a'], 'ssh -p 2222 a'],
  [['x', `ghp_${random}${random}`], 'x ***'],
  [['x', 'AKIAABCDEFGHIJKLMNOP'], 'x ***'],
  [['x', `--key=sk-proj-${random}`], 'x --key=***'],
  [['x', `xoxb-${random}`], 'x ***'],
  [['x', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh'], 'x ***'],
  [['x', '-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----'], 'x ***'],
  [['x', random], 'x ***'],
  [['x', '9f86d081884c7d659a2feaa0c55ad015'], 'x ***'],
]

/** Stay as they are. */
const harmless = [
  'npm install --registry https://npm.example/ left-pad@1.3.0',
  'python3 -m http.server 3000 --bind 0.0.0.0',
  'git clone https://git.example/team/repo.git /srv/repo',
  'pip install -i https://index.example/simple requests==2.31.0',
  'node --max-old-space-size=4096 /usr/lib/node_modules/typescript/bin/tsc --noEmit',
  '/usr/lib/jvm/java-17-openjdk-amd64/bin/java -Dfile.encoding=UTF-8 -jar app.jar',
  'apt-get install -y build-essential libssl-dev',
  'curl -sS -m 10 -o /dev/null https://open.example/a/b/c?page=2',
  'tokenize --author me keyboard.txt',
]

t.test('credentials are masked', t => {
  for (const [words, wanted] of lines) t.equal(maskCommand(words), wanted)
  t.end()
})

t.test('the rest stays', t => {
  for (const line of harmless) t.equal(maskCommand(line.split(' ')), line)
  t.end()
})

t.test('a long line takes no time', t => {
  for (const piece of ['a', 'token', '-', 'password=', 'https://', 'x-key-', 'eyJ', '1aB', ' '])
    for (const end of ['', '@', ':', '=']) {
      const word = piece.repeat(Math.ceil(4096 / piece.length)) + end
      const began = process.cpuUsage()
      maskCommand([word, word])
      const { user, system } = process.cpuUsage(began)
      t.ok(user + system < 200_000, `${piece}…${end}: ${user + system} µs of processor`)
    }
  t.end()
})

t.test('secrets and canaries that the policy knows are masked in whatever form', t => {
  const routing = [{ destinations: ['a.example'], headers: {}, secrets: { key: 'known secret' } }]
  const tenant = createTenant(
    'a',
    { canaries: { bait: 'known canary' }, routing },
    { now: () => 0, limits: { events: 1 } },
  )
  const found = {
    pid: 3,
    process: 'known secret',
    words: ['x', 'known canary', Buffer.from('known secret').toString('hex')],
  }
  t.same(maskSaid(tenant.mask, found), { pid: 3, process: '***', command: 'x *** ***' })
  const told = { pid: 4, process: 'x', command: `x --token=a ${'b'.repeat(505)}known secret` }
  const said = readSaid(Buffer.from(JSON.stringify(told)).toString('base64url'), tenant.mask)
  t.match(said?.command, /^x --token=\*\*\* b/)
  t.notMatch(said?.command, /known/, 'not half of it either')
  t.equal(said?.command?.length, 512)
  tenant.pool.close()
  t.end()
})
