def report(rows):
    lines = []
    for r in rows:
        if r:
            lines.append(str(r))
    for x in range(len(lines)):
        if lines[x] != "0":
            print(x)
            print(lines[x])


report([1, 0, None, "b"])
