def report(rows):
    total = 0
    for r in rows:
        if r:
            total += len(str(r))
        print(r, total)
    for x in range(len(rows)):
        if rows[x] != 0:
            print(x)
            print(rows[x])
    print(total)


report([1, 0, None, "b"])
