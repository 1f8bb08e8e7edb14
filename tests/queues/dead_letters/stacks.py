"""Stacks as the languages print them, each with the frame that is the application's own."""

from __future__ import annotations

PYTHON = """Traceback (most recent call last):
  File "/usr/local/lib/python3.11/threading.py", line 1002, in _bootstrap
    self._bootstrap_inner()
  File "/app/shop/consumers.py", line {line}, in handle
    charge(message)
  File "/app/shop/payments.py", line {line}, in charge
    response = session.post(url, json=body)
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/app/.venv/lib/python3.11/site-packages/requests/sessions.py", line 637, in post
    return self.request("POST", url, data=data, json=json, **kwargs)
  File "<frozen importlib._bootstrap>", line 241, in _call_with_frames_removed
requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='api.acme.eu', port=443): Read timed out.
"""

PYTHON_CHAINED = """Traceback (most recent call last):
  File "/app/shop/cache.py", line {line}, in read
    return self.store[key]
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/shop/prices.py", line {line}, in price_of
    raise Missing(key)
shop.Missing: a
"""

PYTHON_GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/app/shop/fanout.py", line {line}, in everyone
  |     async with asyncio.TaskGroup() as group:
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/app/shop/fanout.py", line {line}, in one
    |     raise ValueError
    | ValueError
    +------------------------------------
"""

PYTHON_WINDOWS = """Traceback (most recent call last):
  File "C:\\shop\\payments.py", line {line}, in charge
    json.loads(text)
  File "C:\\Python311\\Lib\\json\\__init__.py", line 346, in loads
    return _default_decoder.decode(s)
"""

JAVA = """com.acme.shop.PaymentDeclined: declined
\tat org.springframework.web.client.RestTemplate.doExecute(RestTemplate.java:776)
\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1511)
\tat com.acme.shop.PaymentService.charge(PaymentService.java:{line})
\tat com.acme.shop.PaymentService$$EnhancerBySpringCGLIB$$7d2a1b{line}.charge(<generated>)
\tat java.base/java.lang.Thread.run(Thread.java:829)
Caused by: java.net.SocketTimeoutException: Read timed out
\tat java.base/java.net.SocketInputStream.socketRead0(Native Method)
\t... 42 more
"""

JAVA_LAMBDA = """java.lang.IllegalStateException
    at app//com.acme.shop.Orders.lambda$ship${line}(Orders.java:{line})
    at java.base/java.util.stream.ForEachOps.evaluate(ForEachOps.java:151)
"""

KOTLIN = """kotlin.KotlinNullPointerException
    at kotlin.collections.CollectionsKt.first(Collections.kt:10)
    at com.acme.shop.StockKt.reserve(Stock.kt:{line})
"""

NODE = """Error: connect ECONNREFUSED 10.0.0.7:5432
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1595:16)
    at Array.map (<anonymous>)
    at Client.query (/app/node_modules/pg/lib/client.js:526:17)
    at async chargeCard (/app/src/charge.js:{line}:15)
    at async /app/src/worker.js:7:3
"""

NODE_ANONYMOUS = """TypeError: Cannot read properties of undefined (reading 'id')
    at file:///app/src/ship.mjs:{line}:20
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
"""

DOTNET = """System.TimeoutException: The operation has timed out.
   at System.Net.Http.HttpClient.SendAsync(HttpRequestMessage request, CancellationToken token)
   at Acme.Shop.PaymentClient.<ChargeAsync>d__{line}.MoveNext() in /src/Shop/PaymentClient.cs:line {line}
--- End of stack trace from previous location ---
   at Acme.Shop.Worker.Run(Order order) in /src/Shop/Worker.cs:line 9
"""

DOTNET_WITHOUT_SYMBOLS = """System.NullReferenceException: Object reference not set to an instance of an object.
   at Acme.Shop.Basket.Total(Decimal rate, String code)
   at Microsoft.AspNetCore.Mvc.ControllerBase.Ok()
"""

GO = """panic: runtime error: index out of range [3] with length 3

goroutine {line} [running]:
runtime.gopanic({{0x4a1b20?, 0xc0000180d8?}})
\t/usr/local/go/src/runtime/panic.go:770 +0x132
github.com/acme/shop/orders.(*Shipper).Ship(0xc00007e{line}, {{0xc0000b2000, 0x4}})
\t/go/src/app/orders/shipper.go:{line} +0x1d
main.main()
\t/go/src/app/main.go:10 +0x25
"""

RUBY = """/usr/local/bundle/gems/faraday-2.9.0/lib/faraday/adapter.rb:45:in `call': timeout (Faraday::TimeoutError)
\tfrom /usr/local/lib/ruby/3.2.0/net/http.rb:960:in `start'
\tfrom /app/models/payment.rb:{line}:in `block in charge'
\tfrom /app/jobs/charge_job.rb:7:in `perform'
"""

RUBY_34 = """/app/models/basket.rb:{line}:in 'Basket#total': undefined method 'price' for nil (NoMethodError)
\tfrom /app/jobs/total_job.rb:5:in 'TotalJob#perform'
"""

STACKS = {
    "python": (PYTHON, "charge (payments.py)"),
    "python, chained": (PYTHON_CHAINED, "price_of (prices.py)"),
    "python, a group": (PYTHON_GROUP, "one (fanout.py)"),
    "python, on Windows": (PYTHON_WINDOWS, "charge (payments.py)"),
    "java": (JAVA, "com.acme.shop.PaymentService.charge (PaymentService.java)"),
    "java, a lambda": (JAVA_LAMBDA, "com.acme.shop.Orders.lambda$ship$ (Orders.java)"),
    "kotlin": (KOTLIN, "com.acme.shop.StockKt.reserve (Stock.kt)"),
    "node": (NODE, "chargeCard (charge.js)"),
    "node, without a name": (NODE_ANONYMOUS, "(ship.mjs)"),
    "dotnet": (DOTNET, "Acme.Shop.PaymentClient.<ChargeAsync>d__.MoveNext (PaymentClient.cs)"),
    "dotnet, without symbols": (DOTNET_WITHOUT_SYMBOLS, "Acme.Shop.Basket.Total"),
    "go": (GO, "github.com/acme/shop/orders.(*Shipper).Ship (shipper.go)"),
    "ruby": (RUBY, "block in charge (payment.rb)"),
    "ruby 3.4": (RUBY_34, "Basket#total (basket.rb)"),
}
"""Each stack with a place for line numbers, and its topmost frame."""

WITHOUT_A_FRAME = {
    "nothing": None,
    "empty": "",
    "prose": "it went wrong at noon, at the latest",
    "libraries only, python": '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode\n    raise Error',
    "libraries only, java": "\tat java.base/java.lang.Thread.run(Thread.java:829)\n\tat sun.misc.U.p(Native Method)",
    "libraries only, node": "    at node:internal/main/run_main_module:28:49",
    "libraries only, go": "runtime.main()\n\t/usr/local/go/src/runtime/proc.go:271 +0x29d",
}
