"""The ratios of a benchmark as a picture (SVG)."""

WIDTH, ROW, LEFT, RIGHT = 640, 26, 150, 70


def bars(rows):
    """How many times as fast as the best peer, a bar for each workload, and a line at 1."""
    rows = [row for row in rows if "ratio" in row]
    longest = max([row["ratio"] for row in rows], default=1)
    scale = (WIDTH - LEFT - RIGHT) / longest
    height = ROW * len(rows) + 50
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
             'font-size="13">', f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
             f'<text x="{LEFT}" y="20">training step: time of the best peer / time of Onward</text>']
    for number, row in enumerate(rows):
        y = 34 + ROW * number
        lines += [f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{row["work"]}</text>',
                  f'<rect x="{LEFT}" y="{y}" width="{row["ratio"] * scale:.1f}" height="{ROW - 8}" fill="#2a6f97"/>',
                  f'<text x="{LEFT + row["ratio"] * scale + 6:.1f}" y="{y + 14}">{row["ratio"]:.2f}</text>']
    one = LEFT + scale
    lines += [f'<line x1="{one:.1f}" y1="30" x2="{one:.1f}" y2="{height - 12}" stroke="#b23a48" stroke-dasharray="4 3"/>',
              "</svg>"]
    return "\n".join(lines) + "\n"
