/**
 * Calls of the keys API, in order: `METHOD /path?query form-body`. Tests put each list below a directory of its own
 * and compare the replies with those of etcd. `WAIT` lets milliseconds pass.
 */
export const keysCases: Readonly<Record<string, readonly string[]>> = {
  'sets and gets a value': ['PUT /a value=one', 'GET /a', 'GET /a/'],
  'sets again, with the node before': ['PUT /a value=one', 'PUT /a value=two', 'GET /a'],
  'sets an empty value': ['PUT /a value=', 'GET /a', 'PUT /b', 'GET /b'],
  'takes the fields from the query': ['PUT /a?value=fromquery', 'GET /a', 'PUT /a?value=query value=body'],
  'takes the first of two values': ['PUT /a value=one&value=two'],
  'decodes the form': [
    'PUT /a value=%7B%22host%22%3A%221.2.3.4%22%7D',
    'PUT /a value=a+b%2Bc',
    'PUT /a value=%C3%A9%E2%82%AC',
    'PUT /a value=a%3Bb'
  ],
  'refuses a broken escape in the form': ['PUT /a value=%zz', 'PUT /a value=%e', 'GET /a'],
  'refuses a broken escape in the query': ['PUT /a?value=%zz', 'GET /a?recursive=%zz'],
  'refuses a semicolon': ['PUT /a value=a;b', 'GET /a?recursive=true;sorted=true'],
  'shows octets that are no UTF-8 as replaced': ['PUT /a value=%ff', 'GET /a'],
  'makes directories above a key': ['PUT /x/y/z value=1', 'GET /x', 'GET /x/y', 'GET /x/y/z', 'GET /?recursive=true&sorted=true'],
  'keeps directories when the key has gone': ['PUT /x/y/z value=1', 'DELETE /x/y/z', 'GET /x', 'GET /x/y', 'GET /?recursive=true'],
  'says what is missing first': ['GET /no/such/key', 'PUT /no/other value=1', 'GET /no/such/key', 'DELETE /nope', 'DELETE /no/such/key'],
  'refuses a key below a file': [
    'PUT /f value=1',
    'PUT /f/g value=2',
    'GET /f/g',
    'DELETE /f/g',
    'PUT /f/g/h prevExist=false',
    'PUT /f/g prevExist=true'
  ],
  'refuses a value on a directory': [
    'PUT /d dir=true',
    'PUT /d value=1',
    'PUT /d prevExist=true&value=1',
    'PUT /d prevValue=x&value=1',
    'GET /d'
  ],
  'refuses to make a directory twice': ['PUT /d dir=true', 'PUT /d dir=true', 'PUT /d dir=true&prevExist=false'],
  'puts a directory in place of a file': ['PUT /f value=1', 'PUT /f dir=true', 'GET /f', 'GET /'],
  'ignores the value of a directory': ['PUT /d dir=true&value=x', 'GET /d'],
  creates: ['PUT /a prevExist=false&value=1', 'PUT /a prevExist=false&value=2', 'GET /a'],
  'creates below what is missing': ['PUT /p/q prevExist=false&value=1', 'GET /?recursive=true'],
  'creates directories': ['PUT /d prevExist=false&dir=true', 'GET /d', 'PUT /d/e prevExist=false&dir=true', 'GET /?recursive=true'],
  updates: ['PUT /a prevExist=true&value=1', 'PUT /a value=1', 'PUT /a prevExist=true&value=2', 'GET /a'],
  'updates keep the index of creation, sets do not': ['PUT /a value=1', 'PUT /a value=2', 'PUT /a value=3&prevExist=true', 'GET /a'],
  'updates a directory with nothing': [
    'PUT /d dir=true',
    'PUT /d prevExist=true',
    'GET /d',
    'PUT /d prevExist=true&dir=true',
    'GET /?recursive=true'
  ],
  'swaps what compares': ['PUT /a value=1', 'PUT /a prevValue=1&value=2', 'PUT /a prevValue=1&value=3', 'GET /a'],
  'swaps with prevExist as well': [
    'PUT /a value=1',
    'PUT /a prevValue=1&prevExist=true&value=2',
    'PUT /a prevValue=2&prevExist=false&value=3'
  ],
  'swaps nothing that is missing': ['PUT /a prevValue=1&value=2', 'PUT /a/b prevValue=1&value=2&prevExist=true'],
  'compares from the query': ['PUT /a value=1', 'PUT /a?prevValue=1 value=2', 'PUT /a?prevExist=false value=3'],
  'refuses an empty prevValue': ['PUT /a value=1', 'PUT /a prevValue=&value=2', 'DELETE /a?prevValue='],
  'deletes a file': ['PUT /a value=1', 'DELETE /a', 'GET /a', 'DELETE /a'],
  'deletes a file with dir or recursive': ['PUT /a value=1', 'DELETE /a?dir=true', 'PUT /b value=1', 'DELETE /b?recursive=true', 'GET /'],
  'deletes no directory unasked': ['PUT /d dir=true', 'DELETE /d', 'DELETE /d?dir=true', 'GET /d'],
  'deletes no directory with something in it': [
    'PUT /d/a value=1',
    'DELETE /d?dir=true',
    'GET /d',
    'DELETE /d?recursive=true',
    'GET /d/a',
    'GET /d'
  ],
  'deletes a directory with something hidden in it': [
    'PUT /d/_a value=1',
    'DELETE /d?dir=true',
    'DELETE /d?recursive=true&dir=true',
    'GET /d/_a'
  ],
  'deletes what compares': ['PUT /a value=1', 'DELETE /a?prevValue=2', 'DELETE /a?prevValue=1', 'GET /a', 'DELETE /a?prevValue=1'],
  'compares no directory': ['PUT /d dir=true', 'DELETE /d?prevValue=1', 'DELETE /d?prevValue=1&recursive=true'],
  'reads no fields from the body of a delete': ['PUT /d/a value=1', 'DELETE /d recursive=true', 'DELETE /d?recursive=true'],
  lists: ['PUT /b value=2', 'PUT /a value=1', 'PUT /c/d value=3', 'GET /', 'GET /?recursive=true', 'GET /?recursive=true&sorted=true'],
  'lists deep': ['PUT /a/b/c/d/e value=1', 'PUT /a/b/x value=2', 'PUT /a/b/c/y dir=true', 'GET /a?recursive=true&sorted=true', 'GET /a/b'],
  'lists an empty directory': ['PUT /d dir=true', 'GET /d', 'GET /?recursive=true', 'GET /'],
  'hides names with an underscore from lists': [
    'PUT /_h value=1',
    'PUT /v value=2',
    'PUT /_d/x value=3',
    'GET /',
    'GET /?recursive=true',
    'GET /_h',
    'GET /_d'
  ],
  'hides below as well': [
    'PUT /s/_tcp/x value=1',
    'PUT /s/a/_x value=1',
    'GET /s?recursive=true',
    'GET /s/_tcp?recursive=true',
    'GET /s/_tcp/x'
  ],
  'keeps spellings apart': [
    'PUT /Web value=1',
    'PUT /web value=2',
    'GET /Web',
    'GET /web',
    'GET /?sorted=true',
    'GET /WEB',
    'DELETE /Web',
    'GET /?recursive=true'
  ],
  'keeps spellings of directories apart': [
    'PUT /Dir/a value=1',
    'PUT /dir/a value=2',
    'GET /Dir',
    'DELETE /Dir?recursive=true',
    'GET /?recursive=true'
  ],
  'keeps prefixes apart': ['PUT /a/x value=1', 'PUT /ab value=2', 'PUT /a-b value=3', 'DELETE /a?recursive=true', 'GET /?sorted=true'],
  'counts a ttl': ['PUT /a value=1&ttl=100', 'GET /a', 'PUT /a value=2', 'GET /a'],
  'takes a ttl away by an update': ['PUT /a value=1&ttl=100', 'PUT /a value=1&prevExist=true&ttl=', 'GET /a'],
  'gives a ttl by an update': [
    'PUT /a value=1',
    'PUT /a value=1&prevExist=true&ttl=50',
    'GET /a',
    'PUT /a value=3&prevValue=1&ttl=20',
    'GET /?recursive=true'
  ],
  'gives a ttl by creating': ['PUT /a value=1&ttl=70&prevExist=false', 'GET /a', 'DELETE /a'],
  'counts the ttl of a directory': [
    'PUT /d dir=true&ttl=100',
    'PUT /d/a value=1',
    'GET /d',
    'GET /?recursive=true',
    'PUT /d prevExist=true&dir=true&ttl=30',
    'GET /d'
  ],
  'refuses a ttl that is no number': [
    'PUT /a value=1&ttl=x',
    'PUT /a value=1&ttl=-1',
    'PUT /a value=1&ttl=1.5',
    'PUT /a value=1&ttl=%201',
    'GET /a'
  ],
  expires: [
    'PUT /a value=1&ttl=1',
    'PUT /d dir=true&ttl=1',
    'PUT /d/x value=1',
    'WAIT 2600',
    'GET /a',
    'GET /d/x',
    'PUT /a value=1',
    'GET /'
  ],
  refreshes: ['PUT /a value=1&ttl=100', 'PUT /a refresh=true&ttl=50', 'GET /a', 'PUT /a refresh=true&ttl=50&prevExist=true', 'GET /a'],
  'refreshes by comparing': [
    'PUT /a value=1&ttl=100',
    'PUT /a refresh=true&ttl=50&prevValue=1',
    'PUT /a refresh=true&ttl=50&prevValue=2',
    'GET /a'
  ],
  'refreshes nothing that is missing': ['PUT /a refresh=true&ttl=50', 'PUT /a/b refresh=true&ttl=50'],
  'refuses a refresh with a value or without a ttl': [
    'PUT /a value=1',
    'PUT /a refresh=true&value=2&ttl=5',
    'PUT /a refresh=true',
    'PUT /a refresh=x'
  ],
  'ignores refresh=false': ['PUT /a value=1&refresh=false', 'GET /a'],
  'refuses what is no truth value': [
    'GET /?recursive=yes',
    'GET /?sorted=2',
    'PUT /a dir=x',
    'PUT /a prevExist=',
    'GET /?quorum=maybe',
    'DELETE /?recursive=x',
    'GET /?stream=x'
  ],
  'takes every truth value of Go': [
    'PUT /a dir=t',
    'PUT /b dir=F&value=1',
    'PUT /c dir=TRUE',
    'GET /?recursive=1&sorted=T',
    'GET /?recursive=False&quorum=true'
  ],
  'refuses waiting on anything but GET': ['PUT /a wait=true&value=1', 'DELETE /a?wait=true'],
  'refuses an index that is no number': ['PUT /a prevIndex=x&value=1', 'GET /?waitIndex=x', 'PUT /a prevIndex=-1&value=1'],
  'answers without values when asked': [
    'PUT /a value=1&noValueOnSuccess=true',
    'PUT /a value=2&noValueOnSuccess=true',
    'GET /a',
    'PUT /a?noValueOnSuccess=true prevValue=2&value=3',
    'DELETE /a?noValueOnSuccess=true'
  ],
  'says several faults in one order': [
    'PUT /a recursive=x&dir=x&ttl=x',
    'PUT /a prevValue=&ttl=x',
    'PUT /a ttl=x&prevExist=x',
    'PUT /a prevIndex=x&recursive=x'
  ],
  'takes odd names': ['PUT /a%20b value=1', 'PUT /%C3%A9 value=2', 'PUT /a:b value=3', 'PUT /* value=4', 'GET /?sorted=true', 'GET /%2A'],
  'takes what SkyDNS documents': [
    'PUT /skydns/local/skydns/east/production/rails value={"host":"service5.example.com","priority":20}',
    'PUT /skydns/local/skydns/east/staging/rails/1 value={"host":"rails1.example.com","port":8080}',
    'PUT /skydns/local/skydns/dns/stub/com/miek/a value={"host":"172.16.1.10","port":54}',
    'GET /skydns/local?recursive=true&sorted=true',
    'DELETE /skydns/local/skydns/east/staging?recursive=true',
    'GET /skydns/local?recursive=true&sorted=true'
  ],
  'answers a HEAD': ['PUT /a value=1', 'HEAD /a', 'HEAD /b'],
  'refuses other methods': ['PATCH /a value=1'],
  'leaves the root alone': [
    'PUT ^/ value=1',
    'PUT ^/ dir=true',
    'DELETE ^/?recursive=true',
    'PUT ^/ value=1&prevExist=false',
    'PUT ^/ prevExist=true',
    'PUT ^ prevValue=1&value=2',
    'DELETE ^/?prevValue=1'
  ],
  'creates at a directory': [
    'PUT /d/a value=1',
    'PUT /d prevExist=false&value=2',
    'PUT /d/a/b prevExist=false&value=2',
    'PUT /d/a prevExist=false'
  ],
  'counts nothing that failed': [
    'PUT /a value=1',
    'PUT /a prevExist=false',
    'GET /nope',
    'PUT /a/b value=1',
    'PUT /a prevValue=9&value=1',
    'PUT /a value=2',
    'GET /a'
  ]
}
